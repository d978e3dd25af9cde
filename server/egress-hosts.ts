import type { EgressPolicy } from "@berth/contract";

// The host patterns of an egress policy: `example.com`, `*.example.com` (subdomains only) or an address, each with an optional `:port`.

export const HOST_PATTERN = /^((\*\.)?([a-z0-9_-]+\.)*[a-z0-9_-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

// SSH, HTTP and git. Not SMTP: untrusted users would send spam. A pattern that names another port opens it.
export const OPEN_PORTS: ReadonlySet<number> = new Set([22, 80, 443, 8080, 8443, 9418]);

// `host`, `host:443`, `[::1]:443`, `::1`, `10.0.0.0/8:443`.
export function splitPort(text: string): { name: string; port?: number } {
  const match = /^(?:\[(?<six>.+)\]|(?<plain>[^:]+))(?::(?<port>\d+))?$/.exec(text);
  const { six, plain, port } = match?.groups ?? {};
  return { name: six ?? plain ?? text, ...(port !== undefined && { port: Number(port) }) };
}

// Whether everything that the policy permits is permitted by the other one too.
export function isWithin(policy: EgressPolicy, allowed: EgressPolicy): boolean {
  if (policy.policy === "none") return true;
  if (policy.policy === "public" || allowed.policy === "none") return allowed.policy === "public";
  return policy.hosts.every((host) =>
    allowed.policy === "public" ? isOpenPort(splitPort(host).port) : allowed.hosts.some((pattern) => covers(pattern, host)),
  );
}

const isOpenPort = (port: number | undefined) => port === undefined || OPEN_PORTS.has(port);

function covers(pattern: string, host: string): boolean {
  const [outer, inner] = [splitPort(pattern.toLowerCase()), splitPort(host.toLowerCase())];
  const isPortCovered = outer.port === undefined ? isOpenPort(inner.port) : outer.port === inner.port;
  return isPortCovered && (outer.name === inner.name || (outer.name.startsWith("*.") && inner.name.endsWith(outer.name.slice(1))));
}
