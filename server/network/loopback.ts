// Whether a host name or address means this machine alone. Every browser and resolver takes *.localhost for it
// (RFC 6761), and all of 127.0.0.0/8 is. Takes an IPv6 address with and without brackets.
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, "");
  return name === "localhost" || name.endsWith(".localhost") || name === "::1" || /^127(\.\d{1,3}){3}$/.test(name);
}

export const isLoopbackUrl = (url: string): boolean => isLoopbackHost(new URL(url).hostname);
