import type { EgressPolicy } from "@berth/contract";
import { isPublicAddress } from "../../network/public-address.ts";
import { OPEN_PORTS, splitPort } from "../../egress-hosts.ts";
import type { Allowances } from "./allowances.ts";
import type { Target } from "./target.ts";

// The reason to refuse a target before its name is resolved, as a phrase for the user, or undefined.
export function refuseTarget(policy: EgressPolicy, allowances: Allowances, target: Target): string | undefined {
  if (policy.policy === "none") return "this sandbox has no network access";
  if (policy.policy === "hosts" && patternsFor(policy.hosts, target).length === 0)
    return `${target.host} is not an allowed host of this sandbox's template`;
  return isPortOpen(policy, target) || allowances.mayOpenPort(target) ? undefined : closedPort(target);
}

// The addresses that may be dialled for a target, or the reason to refuse it.
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
  // The same phrase for an unknown and for a private name, so that a sandbox cannot probe which internal names exist.
  return open ? `${target.host} has no public address` : closedPort(target);
}

// The rule that allowed a connection to this address, for the egress log.
export function allowingRule(policy: EgressPolicy, target: Target, address: string): string {
  if (!isPortOpen(policy, target) || !isPublicAddress(address)) return "BERTH_EGRESS_ALLOW";
  return (policy.policy === "hosts" && patternsFor(policy.hosts, target)[0]) || policy.policy;
}

const closedPort = ({ port }: Target) => `port ${port} is not allowed, unless the operator names it in BERTH_EGRESS_ALLOW`;

// Whether the port is open for every address that the policy permits. A host pattern of the template opens the port it names.
function isPortOpen(policy: EgressPolicy, target: Target): boolean {
  if (OPEN_PORTS.has(target.port)) return true;
  return policy.policy === "hosts" && patternsFor(policy.hosts, target).some((pattern) => splitPort(pattern).port !== undefined);
}

const patternsFor = (hosts: readonly string[], target: Target) => hosts.filter((pattern) => matchesHost(pattern, target));

// Patterns are `example.com` and `*.example.com` (subdomains only), both with an optional `:port`.
function matchesHost(pattern: string, target: Target): boolean {
  const { name, port } = splitPort(pattern.toLowerCase());
  if (port !== undefined && port !== target.port) return false;
  return name.startsWith("*.") ? target.host.endsWith(name.slice(1)) : target.host === name;
}
