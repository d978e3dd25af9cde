import ipaddr from "ipaddr.js";
import type { Target } from "./target.ts";

// The operator's exceptions (BERTH_EGRESS_ALLOW): a host name, an address or a network, with an optional port. They lift
// the rule about private addresses, and open the port they name, both for their own addresses alone; they never widen a
// template's own policy.
export interface Allowances {
  // Whether this address may be reached although it is private.
  covers(target: Target, address: string): boolean;
  // Whether this address may be reached on a port that is closed to others: only an allowance that names the port does it.
  opensPort(target: Target, address: string): boolean;
  // Whether some address of this target could be. Its addresses are known only when its name has been resolved.
  mayOpenPort(target: Target): boolean;
}

export function parseAllowances(entries: readonly string[]): Allowances {
  const parsed = entries.map(parseAllowance);
  const includes = ({ host, network }: Allowance, target: Target, address: string) => host === target.host || contains(network, address);
  return {
    covers: (target, address) => parsed.some((one) => (one.port ?? target.port) === target.port && includes(one, target, address)),
    opensPort: (target, address) => parsed.some((one) => one.port === target.port && includes(one, target, address)),
    mayOpenPort: (target) =>
      parsed.some(({ host, port, network }) => port === target.port && (host === target.host || network !== undefined)),
  };
}

// `host`, `host:443`, `[::1]:443`, `::1`, `10.0.0.0/8:443`.
export function splitPort(text: string): { name: string; port?: number } {
  const match = /^(?:\[(?<six>.+)\]|(?<plain>[^:]+))(?::(?<port>\d+))?$/.exec(text);
  const { six, plain, port } = match?.groups ?? {};
  return { name: six ?? plain ?? text, ...(port !== undefined && { port: Number(port) }) };
}

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

interface Allowance {
  host: string;
  port?: number;
  network?: Network;
}

function parseAllowance(entry: string): Allowance {
  const { name, ...rest } = splitPort(entry.toLowerCase());
  if (ipaddr.isValidCIDR(name)) return { host: name, ...rest, network: ipaddr.parseCIDR(name) };
  if (!ipaddr.isValid(name)) return { host: name, ...rest };
  const address = ipaddr.process(name);
  return { host: name, ...rest, network: [address, address.kind() === "ipv4" ? 32 : 128] };
}

function contains(network: Network | undefined, text: string): boolean {
  if (!network) return false;
  const address = ipaddr.process(text);
  return address.kind() === network[0].kind() && address.match(network[0], network[1]);
}
