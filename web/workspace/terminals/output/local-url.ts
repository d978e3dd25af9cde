// The host names by which programs in the sandbox mean the sandbox itself.
const LOCAL_HOSTS = new Set(["localhost", "127.0.0.1", "0.0.0.0", "[::1]", "[::]"]);

// The port and path of a URL that a program in the sandbox printed for itself; null for any other URL.
export function parseLocalUrl(uri: string): { port: number; path: string } | null {
  if (!URL.canParse(uri)) return null;
  const { protocol, hostname, port, pathname, search, hash } = new URL(uri);
  if (!/^https?:$/.test(protocol) || !LOCAL_HOSTS.has(hostname)) return null;
  const path = pathname.replace(/^\/+/, "/") + search + hash;
  return { port: Number(port || (protocol === "https:" ? 443 : 80)), path };
}
