import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";

// Whether an address belongs to somebody else on the public Internet. Everything that could be this machine, its
// neighbours or its cloud's metadata service is not, in whatever form it is written: IPv6 can carry an IPv4 address in
// half a dozen ways, and a gateway on the path may unwrap it.
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = plain(text);
  if (address.range() !== "unicast") return false;
  if (address.kind() === "ipv6" && !address.match(GLOBAL_UNICAST)) return false;
  const normalized = address.toNormalizedString();
  return normalized !== AZURE_HOST && !isOwnAddress(normalized);
}

// A public address that on every machine of Azure means the host below it, with what that keeps for the machine.
const AZURE_HOST = "168.63.129.16";

// Of IPv6 only 2000::/3 is handed out. Local NAT64 prefixes, IPv4-compatible addresses and site-local ones lie outside.
const GLOBAL_UNICAST = ipaddr.parseCIDR("2000::/3");

// Without a zone, and an IPv4-mapped IPv6 address as the IPv4 address that it means.
const plain = (text: string) => ipaddr.process(text.split("%")[0] ?? text);

// This machine's own public addresses lead back to the server and to whatever else listens here.
function isOwnAddress(normalized: string): boolean {
  return Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .some(({ address }) => plain(address).toNormalizedString() === normalized);
}
