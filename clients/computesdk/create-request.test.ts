import { expect, test } from "vitest";
import { toCreateSession } from "./create-request.ts";

const DEFAULTS = { autoStartAgent: false, autoResume: true, onTimeout: "destroy", metadata: {} };

test("options of ComputeSDK become those of Berth", () => {
  const options = { timeout: 60_000, templateId: "node", snapshotId: "snp_1", envs: { A: "b" }, cpu: 2, memoryMiB: 512, diskMiB: 1024 };
  expect(toCreateSession(options)).toEqual({
    ...DEFAULTS,
    timeoutMs: 60_000,
    template: "node",
    source: { snapshotId: "snp_1" },
    envVars: { A: "b" },
    resources: { cpus: 2, memoryMb: 512, diskMb: 1024 },
  });
  expect(toCreateSession({ cpu: 2, cpuLimit: 1, resources: { memoryMb: 256 } }).resources).toEqual({ cpus: 1, memoryMb: 256 });
  expect(toCreateSession({ resources: { vcpus: 4 } }).resources).toEqual({ cpus: 4 });
});

test("metadata become texts, with the name and the namespace", () => {
  const { metadata } = toCreateSession({ name: "ci", namespace: "acme", metadata: { tries: 3, tags: ["a"], none: undefined } });
  expect(metadata).toEqual({ name: "ci", namespace: "acme", tries: "3", tags: '["a"]' });
});

test("fields of Berth are passed on, what only others understand is ignored, and anything else is refused", () => {
  const egress = { policy: "none" };
  expect(toCreateSession({ egress, onTimeout: "pause", autoStartAgent: true })).toEqual({
    ...DEFAULTS,
    egress,
    onTimeout: "pause",
    autoStartAgent: true,
  });
  expect(toCreateSession({ provider: "berth", ports: [80], runtime: "node", vmTier: "Micro", image: undefined })).toEqual(DEFAULTS);
  for (const option of ["image", "directory", "egres", "externalUserId", "count"])
    expect(() => toCreateSession({ [option]: "x" })).toThrow(`does not know the option ${option}`);
  expect(() => toCreateSession({ resources: { gpus: 1 } })).toThrow("resources.gpus");
});
