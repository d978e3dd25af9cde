import type { IncomingMessage } from "node:http";
import ipaddr from "ipaddr.js";

export type IsTrustedProxy = (address: string) => boolean;

// Whether a proxy at this address says truly who its callers are. `proxies` are addresses and networks.
export function createProxyTrust(proxies: readonly string[]): IsTrustedProxy {
  const networks = proxies.map((text) => (text.includes("/") ? ipaddr.parseCIDR(text) : wholeAddress(text)));
  return (text) => {
    if (!ipaddr.isValid(text)) return false;
    const address = ipaddr.process(text);
    return networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
  };
}

function wholeAddress(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const address = ipaddr.process(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

// The address of the caller: the last one that no trusted proxy has. Everything before it in X-Forwarded-For is what the caller claims.
export function callerAddress({ socket, headers }: IncomingMessage, isTrusted: IsTrustedProxy): string {
  const forwarded = String(headers["x-forwarded-for"] ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => ipaddr.isValid(part));
  const hops = [...forwarded, socket.remoteAddress ?? ""];
  return (hops.findLast((hop) => !isTrusted(hop)) ?? hops[0] ?? "").replace(/^::ffff:/, "");
}
