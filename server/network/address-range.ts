import ipaddr from "ipaddr.js";

// One address, or a network such as 10.0.0.0/8.
export type AddressRange = [ipaddr.IPv4 | ipaddr.IPv6, number];

// undefined if the text is neither.
export function parseRange(text: string): AddressRange | undefined {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  if (!ipaddr.isValid(text)) return undefined;
  const address = ipaddr.process(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

export function isInRange([first, bits]: AddressRange, text: string): boolean {
  const address = ipaddr.process(text);
  return address.kind() === first.kind() && address.match(first, bits);
}
