import { splitPort } from "../../egress-hosts.ts";
import { isInRange, parseRange, type AddressRange } from "../../network/address-range.ts";
import { isOwnAddress } from "../../network/public-address.ts";
import type { Target } from "./target.ts";

// The operator's exceptions (BERTH_EGRESS_ALLOW): host names, addresses or networks, each with an optional port. For its own
// addresses, an exception permits private addresses and opens the port that it names. It never widens a template's policy, and
// never leads to the server itself, which takes programs on its machine for its operator.
export interface Allowances {
  // Whether a private address may be reached.
  covers(target: Target, address: string): boolean;
  // Whether the address may be reached on a port that is closed by default. Only an exception that names the port opens it.
  opensPort(target: Target, address: string): boolean;
  // Whether `opensPort` could be true for some address of this target, whose name is not resolved yet.
  mayOpenPort(target: Target): boolean;
}

export interface OperatorAllowances {
  allow: readonly string[];
  // The ports on which this server listens.
  ownPorts?: readonly number[];
}

export function parseAllowances({ allow: entries, ownPorts = [] }: OperatorAllowances): Allowances {
  const parsed = entries.map(parseAllowance);
  const includes = ({ host, network }: Allowance, target: Target, address: string) =>
    host === target.host || (network !== undefined && isInRange(network, address));
  const isOurs = ({ port }: Target, address: string) => ownPorts.includes(port) && isOwnAddress(address);
  return {
    covers: (target, address) =>
      !isOurs(target, address) && parsed.some((one) => (one.port ?? target.port) === target.port && includes(one, target, address)),
    opensPort: (target, address) =>
      !isOurs(target, address) && parsed.some((one) => one.port === target.port && includes(one, target, address)),
    mayOpenPort: (target) =>
      parsed.some(({ host, port, network }) => port === target.port && (host === target.host || network !== undefined)),
  };
}

interface Allowance {
  host: string;
  port?: number;
  network?: AddressRange;
}

function parseAllowance(entry: string): Allowance {
  const { name, ...rest } = splitPort(entry.toLowerCase());
  const network = parseRange(name);
  return { host: name, ...rest, ...(network && { network }) };
}
