import { expect, test } from "vitest";
import type { EgressPolicy, EgressRule } from "@berth/contract";
import { isWithin } from "./egress-hosts.ts";
import { findLimitFaults, limitTemplate } from "./session-limits.ts";
import { DEFAULT_TEMPLATE, templateHash } from "./templates.ts";

const hosts = (...names: string[]): EgressPolicy => ({ policy: "hosts", hosts: names });
const PUBLIC: EgressPolicy = { policy: "public" };
const NONE: EgressPolicy = { policy: "none" };

test.each([
  [NONE, NONE, true],
  [PUBLIC, NONE, false],
  [PUBLIC, hosts("example.com"), false],
  [hosts("example.com"), NONE, false],
  [hosts("example.com", "a.example.com:443"), PUBLIC, true],
  // A pattern with a port opens that port, which the policy public does not.
  [hosts("example.com:25"), PUBLIC, false],
  [hosts("Example.com"), hosts("example.com"), true],
  [hosts("a.example.com"), hosts("*.example.com"), true],
  [hosts("*.a.example.com"), hosts("*.example.com"), true],
  [hosts("example.com"), hosts("*.example.com"), false],
  [hosts("*.com"), hosts("*.example.com"), false],
  [hosts("badexample.com"), hosts("*.example.com"), false],
  [hosts("example.com:443"), hosts("example.com"), true],
  [hosts("example.com:25"), hosts("example.com"), false],
  [hosts("example.com"), hosts("example.com:25"), false],
  [hosts("example.com:25"), hosts("example.com:25"), true],
  [hosts("example.com", "other.org"), hosts("example.com"), false],
  [{ ...PUBLIC, deny: ["192.0.2.7"] }, PUBLIC, true],
  [PUBLIC, { ...PUBLIC, deny: ["192.0.2.7"] }, false],
  [hosts("example.com"), { ...PUBLIC, deny: ["192.0.2.7"] }, false],
  [{ ...PUBLIC, deny: ["b.example", "192.0.2.7"] }, { ...PUBLIC, deny: ["192.0.2.7"] }, true],
])("%j is within %j: %s", (policy, allowed, expected) => {
  expect(isWithin(policy, allowed)).toBe(expected);
});

test.each([
  [{ policy: "public", deny: ["192.0.2.0/24", "2001:db8::1", "*.ads.example", "localhost"] }, []],
  [{ policy: "public", deny: ["192.0.2.0/33"] }, [{ field: "egress.deny.0", message: "Must be a host, *.domain, address or network" }]],
  [{ policy: "public", deny: ["a.example", "192.0.2.400"] }, [expect.objectContaining({ field: "egress.deny.1" })]],
  [{ policy: "public", deny: ["a.example:443"] }, [expect.objectContaining({ field: "egress.deny.0" })]],
  [{ policy: "none", deny: ["a.example"] }, [{ field: "egress.deny", message: "The policy `none` denies everything already" }]],
] as const)("the denied hosts of %j: %j", (egress, faults) => {
  expect(findLimitFaults(DEFAULT_TEMPLATE, { egress: structuredClone(egress) as never })).toEqual(faults);
});

test("a session denies what its template denies", () => {
  const template = { ...DEFAULT_TEMPLATE, egress: { policy: "public" as const, deny: ["192.0.2.7"] } };
  expect(findLimitFaults(template, { egress: { policy: "public" } })).toEqual([
    { field: "egress.deny", message: "Must contain 192.0.2.7, which the template denies" },
  ]);
  expect(findLimitFaults(template, { egress: { policy: "hosts", hosts: ["a.example"], deny: ["192.0.2.7"] } })).toEqual([]);
});

test("a session may have up to the template's maximum, and without one only the template's value", () => {
  const template = { ...DEFAULT_TEMPLATE, cpus: 1, memoryMb: 2048, maxResources: { memoryMb: 8192 } };
  expect(findLimitFaults(template, { resources: { cpus: 1, memoryMb: 8192, diskMb: template.diskMb } })).toEqual([]);
  expect(findLimitFaults(template, { resources: { memoryMb: 64 } })).toEqual([]);
  expect(findLimitFaults(template, { resources: { cpus: 2, memoryMb: 8193, diskMb: 16 } })).toEqual([
    { field: "resources.cpus", message: "Must be 1, because the template allows no other value" },
    { field: "resources.memoryMb", message: "Must be at most 8192" },
    { field: "resources.diskMb", message: "Must be 10240, because the template allows no other value" },
  ]);
});

test("a session may reach less than its template, and more only if the template says so", () => {
  const faultsOf = (egress: Parameters<typeof findLimitFaults>[1]["egress"], template = DEFAULT_TEMPLATE) =>
    findLimitFaults(template, { ...(egress && { egress }) });
  expect(faultsOf({ policy: "none" })).toEqual([]);
  expect(faultsOf({ policy: "hosts", hosts: ["registry.npmjs.org"] })).toEqual([]);
  expect(faultsOf({ policy: "hosts" })).toEqual([{ field: "egress.hosts", message: "Required" }]);
  expect(faultsOf({ policy: "none", hosts: ["a.org"] })).toEqual([
    { field: "egress.hosts", message: "Only the policy `hosts` takes a list of hosts" },
  ]);
  expect(faultsOf({ policy: "hosts", hosts: ["a.org", "not a host"] })).toMatchObject([{ field: "egress.hosts.1" }]);
  const narrow = { ...DEFAULT_TEMPLATE, egress: NONE, maxEgress: hosts("*.a.org") };
  expect(faultsOf({ policy: "hosts", hosts: ["x.a.org", "b.org"] }, narrow)).toMatchObject([{ field: "egress.hosts.1" }]);
  expect(faultsOf({ policy: "public" }, narrow)).toMatchObject([{ field: "egress.policy" }]);
  expect(faultsOf({ policy: "hosts", hosts: ["x.a.org"] }, narrow)).toEqual([]);
});

test("a template with other limits has another hash, and equal limits leave it as it is", () => {
  expect(limitTemplate(DEFAULT_TEMPLATE, { resources: { cpus: DEFAULT_TEMPLATE.cpus }, egress: { policy: "public" } })).toBe(
    DEFAULT_TEMPLATE,
  );
  const hashes = [{}, { resources: { cpus: 2 } }, { resources: { diskMb: 64 } }, { egress: NONE }].map((limits) =>
    templateHash(limitTemplate(DEFAULT_TEMPLATE, limits)),
  );
  expect(new Set(hashes).size).toBe(4);
  expect(templateHash({ ...DEFAULT_TEMPLATE, autoResume: true, maxResources: { cpus: 8 } })).toBe(hashes[0]);
});

test("a rule with methods and paths is within a host, and within a rule that allows as much", () => {
  const host = "api.org";
  const rule = { host, methods: ["GET"], paths: ["/v1/a"] };
  const isWithinHosts = (inner: EgressRule | string, ...outer: (EgressRule | string)[]) =>
    isWithin({ policy: "hosts", hosts: [inner] }, { policy: "hosts", hosts: outer });
  for (const outer of [host, "*.org", { host }, rule, { host, paths: ["/v1/*"] }, { host, methods: ["GET", "POST"] }])
    expect(isWithinHosts(rule, outer)).toBe(true);
  for (const outer of [
    { host, methods: ["POST"] },
    { host, paths: ["/v2/*"] },
    { ...rule, host: "b.org" },
  ])
    expect(isWithinHosts(rule, outer)).toBe(false);
  // A host without limits, and a rule that leaves out one of them, allow more.
  for (const inner of [host, { host }, { host, methods: ["GET"] }, { host, paths: ["/v1/a"] }])
    expect(isWithinHosts(inner, rule)).toBe(false);
});

test("a rule with a path that is not plain is refused with its position", () => {
  const egress = { policy: "hosts" as const, hosts: ["a.org", { host: "b.org", paths: ["/ok", "/a/../b"] }] };
  expect(findLimitFaults(DEFAULT_TEMPLATE, { egress })).toEqual([
    { field: "egress.hosts.1", message: "Must be a plain path that begins with / and may end with *" },
  ]);
});
