// Whether a host name or address always means this machine: localhost and its subdomains (RFC 6761), 127.0.0.0/8 and ::1.
// Accepts IPv6 addresses with and without brackets.
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, "");
  return name === "localhost" || name.endsWith(".localhost") || name === "::1" || /^127(\.\d{1,3}){3}$/.test(name);
}

export const isLoopbackUrl = (url: string): boolean => isLoopbackHost(new URL(url).hostname);
