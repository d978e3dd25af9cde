import type { EgressPolicy } from "@berth/contract";
import { isPublicAddress } from "../../network/public-address.ts";
import { splitPort, type Allowances } from "./allowances.ts";
import type { Target } from "./target.ts";

// SSH, the web and git. Mail in particular is not among them: sandboxes are for strangers.
const PORTS = new Set([22, 80, 443, 8080, 8443, 9418]);

// What speaks against the target before its name is resolved, in words for the person who asked.
export function refuseTarget(policy: EgressPolicy, allowances: Allowances, target: Target): string | undefined {
  if (policy.policy === "none") return "this sandbox has no way out";
  if (policy.policy === "hosts" && patternsFor(policy.hosts, target).length === 0)
    return `${target.host} is not among the hosts of this sandbox's template`;
  return isPortOpen(policy, target) || allowances.mayOpenPort(target) ? undefined : closedPort(target);
}

// The addresses that may be dialled for a target, or why there are none.
export function permittedAddresses(
  policy: EgressPolicy,
  allowances: Allowances,
  target: Target,
  addresses: readonly string[],
): string[] | string {
  const open = isPortOpen(policy, target);
  const permitted = addresses.filter((address) =>
    open ? isPublicAddress(address) || allowances.covers(target, address) : allowances.opensPort(target, address),
  );
  if (permitted.length > 0) return permitted;
  // One sentence for a name that is unknown and one that is private: what names exist inside is nobody's business.
  return open ? `${target.host} has no public address` : closedPort(target);
}

const closedPort = ({ port }: Target) => `port ${port} is closed`;

// Whether the port is open to every address that the policy permits. A pattern of the template that names its port opens it.
function isPortOpen(policy: EgressPolicy, target: Target): boolean {
  if (PORTS.has(target.port)) return true;
  return policy.policy === "hosts" && patternsFor(policy.hosts, target).some((pattern) => splitPort(pattern).port !== undefined);
}

const patternsFor = (hosts: readonly string[], target: Target) => hosts.filter((pattern) => matchesHost(pattern, target));

// `example.com`, `*.example.com` (its subdomains, not itself), both with an optional `:port`.
function matchesHost(pattern: string, target: Target): boolean {
  const { name, port } = splitPort(pattern.toLowerCase());
  if (port !== undefined && port !== target.port) return false;
  return name.startsWith("*.") ? target.host.endsWith(name.slice(1)) : target.host === name;
}
