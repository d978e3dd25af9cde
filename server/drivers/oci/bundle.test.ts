import { expect, test } from "vitest";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { cpuShares } from "../host/isolation/cpu-shares.ts";
import { bundleConfig, type BundleOptions } from "./bundle.ts";
import { RUNTIME_KINDS } from "./runtime/runtime-kinds.ts";
import { pairMappings } from "./users/id-mappings.ts";

const options: BundleOptions = {
  template: { ...DEFAULT_TEMPLATE, cpus: 2 },
  kind: RUNTIME_KINDS.runc,
  root: "/sandbox/root",
  workspace: "/sandbox/workspace",
  home: "/sandbox/home",
  runtimeDir: "/runtime",
  egress: "/egress",
  hasHostPrograms: true,
  user: { uid: 1000, gid: 1000 },
  namespace: { mappings: pairMappings({ root: 0x70000000, user: 0x70000001 }) },
  group: { path: "/berth-test", limitsCpu: true },
  env: {},
  args: [],
};

test("a sandbox may use the CPUs of its template, but has little weight when the processors are busy", () => {
  expect(bundleConfig(options).linux.resources).toMatchObject({ cpu: { quota: 200_000, period: 100_000, shares: cpuShares(2) } });
});

test("without control groups, each process has limits, and the runtime is in the sandbox's user namespace already", () => {
  const { linux, process } = bundleConfig({ ...options, namespace: "entered", group: undefined });
  expect(Object.keys(linux.resources)).toEqual(["devices"]);
  expect(linux.namespaces.map(({ type }) => type)).not.toContain("user");
  expect(process.rlimits).toContainEqual({ type: "RLIMIT_NPROC", soft: DEFAULT_TEMPLATE.pids, hard: DEFAULT_TEMPLATE.pids });
});
