import ipaddr from "ipaddr.js";
import type { EgressPolicy, EgressRule } from "@berth/contract";
import { coversPath, isPathPattern } from "./egress-paths.ts";

// The hosts of an egress policy: `example.com`, `*.example.com` (subdomains only) or an address, each with an optional `:port`. A rule
// names a host with the methods and paths that are allowed there.

export type HostEntry = string | EgressRule;

const HOST_PATTERN = /^((\*\.)?([a-z0-9_-]+\.)*[a-z0-9_-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

// SSH, HTTP and git. Not SMTP: untrusted users would send spam. A pattern that names another port opens it.
export const OPEN_PORTS: ReadonlySet<number> = new Set([22, 80, 443, 8080, 8443, 9418]);

export const ruleOf = (entry: HostEntry): EgressRule => (typeof entry === "string" ? { host: entry } : entry);

// Whether the rule allows only some requests. They can be checked only in plain HTTP.
export const isRestricted = ({ methods, paths }: EgressRule): boolean => methods !== undefined || paths !== undefined;

// In one line, for people.
export function describeEntry(entry: HostEntry): string {
  const { host, methods, paths } = ruleOf(entry);
  return [host, methods?.join(","), paths?.join(",")].filter(Boolean).join(" ");
}

export function describePolicy(policy: EgressPolicy): string {
  const allowed = policy.policy === "hosts" ? policy.hosts.map(describeEntry).join(", ") : policy.policy;
  const denied = deniedOf(policy);
  return denied.length > 0 ? `${allowed} except ${denied.join(", ")}` : allowed;
}

// The hosts, addresses and networks that the policy forbids, whatever else it allows.
export const deniedOf = (policy: EgressPolicy): readonly string[] => (policy.policy === "none" ? [] : (policy.deny ?? []));

// Not an address with a mistake in it, which would forbid nothing.
const NAME_PATTERN = /^(\*\.)?([a-z0-9_-]+\.)*[a-z0-9_-]*[a-z_-][a-z0-9_-]*$/i;

// Whether the text is a host, *.domain, address or network, without a port.
export const isDeniable = (text: string): boolean => ipaddr.isValid(text) || ipaddr.isValidCIDR(text) || NAME_PATTERN.test(text);

export const DENIABLE = "a host, *.domain, address or network";

// Why an entry is not valid, as the end of a sentence.
export function findEntryFault(entry: HostEntry): { value: string; rule: string } | undefined {
  const { host, paths = [] } = ruleOf(entry);
  if (!HOST_PATTERN.test(host)) return { value: host, rule: "a host, *.domain or address with an optional :port" };
  const path = paths.find((one) => !isPathPattern(one));
  return path === undefined ? undefined : { value: path, rule: "a plain path that begins with / and may end with *" };
}

// `host`, `host:443`, `[::1]:443`, `::1`, `10.0.0.0/8:443`.
export function splitPort(text: string): { name: string; port?: number } {
  const match = /^(?:\[(?<six>.+)\]|(?<plain>[^:]+))(?::(?<port>\d+))?$/.exec(text);
  const { six, plain, port } = match?.groups ?? {};
  return { name: six ?? plain ?? text, ...(port !== undefined && { port: Number(port) }) };
}

// Whether everything that the policy permits is permitted by the other one too.
export function isWithin(policy: EgressPolicy, allowed: EgressPolicy): boolean {
  if (policy.policy === "none") return true;
  const forbidden = deniedOf(policy);
  if (!deniedOf(allowed).every((host) => forbidden.includes(host))) return false;
  if (policy.policy === "public" || allowed.policy === "none") return allowed.policy === "public";
  return policy.hosts
    .map(ruleOf)
    .every((rule) =>
      allowed.policy === "public" ? isOpenPort(splitPort(rule.host).port) : allowed.hosts.some((entry) => covers(ruleOf(entry), rule)),
    );
}

const isOpenPort = (port: number | undefined) => port === undefined || OPEN_PORTS.has(port);

const covers = (outer: EgressRule, inner: EgressRule): boolean =>
  coversHost(outer.host, inner.host) &&
  (!outer.methods || (inner.methods?.every((method) => outer.methods!.includes(method)) ?? false)) &&
  (!outer.paths || (inner.paths?.every((path) => outer.paths!.some((pattern) => coversPath(pattern, path))) ?? false));

function coversHost(pattern: string, host: string): boolean {
  const [outer, inner] = [splitPort(pattern.toLowerCase()), splitPort(host.toLowerCase())];
  const isPortCovered = outer.port === undefined ? isOpenPort(inner.port) : outer.port === inner.port;
  return isPortCovered && (outer.name === inner.name || (outer.name.startsWith("*.") && inner.name.endsWith(outer.name.slice(1))));
}
