import { isIP } from "node:net";
import type { EgressPolicy, EgressRule } from "@berth/contract";
import { isInRange, parseRange } from "../../network/address-range.ts";
import { isPublicAddress } from "../../network/public-address.ts";
import { describeEntry, deniedOf, isRestricted, OPEN_PORTS, ruleOf, splitPort, type HostEntry } from "../../egress-hosts.ts";
import { matchesPath } from "../../egress-paths.ts";
import type { Allowances } from "./allowances.ts";
import type { Target } from "./target.ts";

// A plain request that the proxy forwards. `path` is the one that it sends, without the query.
export interface PlainRequest {
  method: string;
  path: string;
  headers: Readonly<Record<string, unknown>>;
}

// The reason to refuse a target before its name is resolved, as a phrase for the user, or undefined. Without a request it is a tunnel,
// whose content the proxy does not see.
export function refuseTarget(
  policy: EgressPolicy,
  allowances: Allowances,
  target: Target,
  request: PlainRequest | null,
): string | undefined {
  if (policy.policy === "none") return "this sandbox has no network access";
  if (isDenied(policy, target, target.host)) return forbiddenHost(target);
  if (policy.policy === "hosts") {
    const rules = rulesFor(policy.hosts, target);
    if (rules.length === 0) return `${target.host} is not an allowed host of this sandbox`;
    const reason = rules.every(isRestricted) ? refuseRequest(rules, target, request) : undefined;
    if (reason !== undefined) return reason;
  }
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
  const reachable = addresses.filter((address) =>
    open ? isPublicAddress(address) || allowances.covers(target, address) : allowances.opensPort(target, address),
  );
  const permitted = reachable.filter((address) => !isDenied(policy, target, address));
  if (permitted.length > 0) return permitted;
  if (reachable.length > 0) return forbiddenHost(target);
  // The same phrase for an unknown and for a private name, so that a sandbox cannot probe which internal names exist.
  return open ? `${target.host} has no public address` : closedPort(target);
}

// The rule that allowed a connection to this address, for the egress log.
export function allowingRule(policy: EgressPolicy, target: Target, address: string): string {
  if (!isPortOpen(policy, target) || !isPublicAddress(address)) return "BERTH_EGRESS_ALLOW";
  const rule = policy.policy === "hosts" ? rulesFor(policy.hosts, target)[0] : undefined;
  return rule ? describeEntry(rule) : policy.policy;
}

// Whether the policy goes by names, so that the name in a tunnel must be that of its target.
export const needsServerName = (policy: EgressPolicy): boolean =>
  policy.policy === "hosts" || deniedOf(policy).some((entry) => !parseRange(entry));

const forbiddenHost = ({ host }: Target) => `${host} is a host that this sandbox may not reach`;

// Whether the policy denies the target by name, or this address.
const isDenied = (policy: EgressPolicy, target: Target, address: string): boolean =>
  deniedOf(policy).some((entry) => {
    const range = parseRange(entry);
    return range ? isIP(address) !== 0 && isInRange(range, address) : matchesHost(entry, target);
  });

const closedPort = ({ port }: Target) => `port ${port} is not allowed, unless the operator names it in BERTH_EGRESS_ALLOW`;

// Servers and frameworks take the method or the path from these instead of the request line.
const OVERRIDES = ["x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url"];

function refuseRequest(rules: readonly EgressRule[], { host }: Target, request: PlainRequest | null): string | undefined {
  if (!request) return `${host} is allowed only by plain HTTP, because its rule names methods or paths`;
  const override = OVERRIDES.find((name) => request.headers[name] !== undefined);
  if (override !== undefined) return `the header ${override} is not allowed for ${host}, because its rule names methods or paths`;
  return rules.some((rule) => allowsRequest(rule, request)) ? undefined : `this method or path is not allowed for ${host}`;
}

const allowsRequest = ({ methods, paths }: EgressRule, { method, path }: PlainRequest): boolean =>
  (!methods || methods.includes(method)) && (!paths || paths.some((pattern) => matchesPath(pattern, path)));

// Whether the port is open for every address that the policy permits. A host pattern of the template opens the port it names.
function isPortOpen(policy: EgressPolicy, target: Target): boolean {
  if (OPEN_PORTS.has(target.port)) return true;
  return policy.policy === "hosts" && rulesFor(policy.hosts, target).some(({ host }) => splitPort(host).port !== undefined);
}

const rulesFor = (hosts: readonly HostEntry[], target: Target) => hosts.map(ruleOf).filter(({ host }) => matchesHost(host, target));

// Patterns are `example.com` and `*.example.com` (subdomains only), both with an optional `:port`.
function matchesHost(pattern: string, target: Target): boolean {
  const { name, port } = splitPort(pattern.toLowerCase());
  if (port !== undefined && port !== target.port) return false;
  return name.startsWith("*.") ? target.host.endsWith(name.slice(1)) : target.host === name;
}
