import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";

// Whether an address is on the public Internet and not one of this machine. Addresses that could mean this machine, its
// network or its cloud's metadata service are not public, however they are written: IPv6 can embed an IPv4 address in several
// ways, and a gateway on the path may unwrap it.
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = normalize(text);
  if (address.range() !== "unicast") return false;
  if (address.kind() === "ipv6" && !address.match(GLOBAL_UNICAST)) return false;
  const normalized = address.toNormalizedString();
  return normalized !== AZURE_HOST && !isOnInterface(normalized);
}

// Whether a connection to this address stays on this machine.
export function isOwnAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = normalize(text);
  return OWN_RANGES.has(address.range()) || isOnInterface(address.toNormalizedString());
}

// A connection to 0.0.0.0 or :: reaches this machine.
const OWN_RANGES: ReadonlySet<string> = new Set(["loopback", "unspecified"]);

// On Azure, this public address reaches the platform's own services for the virtual machine.
const AZURE_HOST = "168.63.129.16";

// The only range of IPv6 that is allocated for the Internet. Local NAT64 prefixes, IPv4-compatible and site-local addresses are
// outside of it.
const GLOBAL_UNICAST = ipaddr.parseCIDR("2000::/3");

// Removes the zone, and converts an IPv4-mapped IPv6 address to IPv4.
const normalize = (text: string) => ipaddr.process(text.split("%")[0] ?? text);

// This machine's public addresses lead back to the server and to other services on it.
function isOnInterface(normalized: string): boolean {
  return Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .some(({ address }) => normalize(address).toNormalizedString() === normalized);
}
