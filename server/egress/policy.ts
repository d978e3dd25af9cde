import type { EgressPolicy } from "@berth/contract";
import { isPublicAddress } from "./addresses.ts";
import { splitPort, type Allowances } from "./allowances.ts";

export interface Target {
  // A name or an address as it was asked for, in lower case, without brackets and without a last dot.
  host: string;
  port: number;
}

// SSH, the web and git. Mail in particular is not among them: sandboxes are for strangers.
const PORTS = new Set([22, 80, 443, 8080, 8443, 9418]);

// What speaks against the target before its name is resolved, in words for the person who asked.
export function refuseTarget(policy: EgressPolicy, allowances: Allowances, target: Target): string | undefined {
  if (policy.policy === "none") return "this sandbox has no way out";
  if (policy.policy === "hosts") {
    const matching = policy.hosts.filter((pattern) => matchesHost(pattern, target));
    if (matching.length === 0) return `${target.host} is not among the hosts of this sandbox's template`;
    // A pattern that names its port opens it.
    if (matching.some((pattern) => splitPort(pattern).port !== undefined)) return undefined;
  }
  return PORTS.has(target.port) || allowances.openPort(target) ? undefined : `port ${target.port} is closed`;
}

// The addresses that may be dialled for a target.
export function permittedAddresses(allowances: Allowances, target: Target, addresses: readonly string[]): string[] {
  return addresses.filter((address) => isPublicAddress(address) || allowances.cover(target, address));
}

// `example.com`, `*.example.com` (its subdomains, not itself), both with an optional `:port`.
function matchesHost(pattern: string, target: Target): boolean {
  const { name, port } = splitPort(pattern.toLowerCase());
  if (port !== undefined && port !== target.port) return false;
  return name.startsWith("*.") ? target.host.endsWith(name.slice(1)) : target.host === name;
}
