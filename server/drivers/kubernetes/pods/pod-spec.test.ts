import { newId, type VolumeId } from "@berth/contract";
import { expect, test } from "vitest";
import { restricted } from "../../../../tests/support/kubernetes/controllers.ts";
import { readConfig } from "../../../config/config.ts";
import { DEFAULT_TEMPLATE } from "../../../templates.ts";
import { volumeNameOf } from "../cluster/names.ts";
import type { SandboxVolume } from "../../driver.ts";
import { CLEARED_VARIABLES } from "../../cleared-variables.ts";
import { describePod, type PodSettings } from "./pod-spec.ts";
import { sandboxKind, statefulSetKind } from "../workloads/workload-kinds.ts";

const spec = { id: newId("sbx", 1), template: { ...DEFAULT_TEMPLATE, env: { SECRET: "of the template" } }, tokenHash: "ab".repeat(32) };
const settings: PodSettings = {
  image: "berth-sandbox:1",
  egress: "10.0.0.9:3129",
  userNamespace: false,
  imagePullSecrets: [],
  templatesHaveDaemon: false,
  storageClass: null,
  nodeSelector: {},
};

test("the pod meets the Pod Security level restricted, and is stricter", () => {
  const pod = describePod(spec, settings, "Never");
  expect(restricted(pod)).toBeNull();
  expect(pod.initContainers).toEqual([]);
  expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false, dnsPolicy: "None" });
  expect(pod.containers[0]?.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    privileged: false,
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    capabilities: { drop: ["ALL"] },
    seccompProfile: { type: "RuntimeDefault" },
  });
  expect(pod.containers[0]?.resources?.limits).toMatchObject({ cpu: "1000m", memory: "2048Mi" });
});

test("the pod contains no secret, only the daemon's settings and a hash", () => {
  const names = describePod(spec, settings, "Never").containers[0]?.env?.map(({ name }) => name);
  expect(names).toEqual([
    "BERTH_TOKEN_HASH",
    "BERTH_LISTEN",
    "BERTH_WORKSPACE",
    "BERTH_HOME",
    "BERTH_EGRESS",
    "HOME",
    ...Object.keys(CLEARED_VARIABLES),
  ]);
});

test("runtime class, user namespace and pull secrets are set if configured", () => {
  const plain = describePod(spec, settings, "Never");
  expect([plain.runtimeClassName, plain.hostUsers, plain.imagePullSecrets]).toEqual([undefined, undefined, undefined]);
  const template = { ...spec.template, runtime: "gvisor", image: "registry.example/tools:2" };
  const pod = describePod({ ...spec, template }, { ...settings, userNamespace: true, imagePullSecrets: ["pull"] }, "Never");
  expect(pod).toMatchObject({ runtimeClassName: "gvisor", hostUsers: false, imagePullSecrets: [{ name: "pull" }] });
  expect(pod.containers[0]?.image).toBe("registry.example/tools:2");
});

test("sandboxes run on any node, or on nodes with the configured labels", () => {
  expect(describePod(spec, settings, "Never")).not.toHaveProperty("nodeSelector");
  const nodeSelector = { "kubernetes.io/arch": "arm64", pool: "sandboxes" };
  expect(describePod(spec, { ...settings, nodeSelector }, "Never").nodeSelector).toEqual(nodeSelector);
  const { config } = readConfig({ BERTH_KUBERNETES_NODE_SELECTOR: "kubernetes.io/arch=arm64,pool=sandboxes" });
  expect(config.kubernetesNodeSelector).toEqual(["kubernetes.io/arch=arm64", "pool=sandboxes"]);
  expect(() => readConfig({ BERTH_KUBERNETES_NODE_SELECTOR: "arm64" })).toThrow(/label=value/);
});

test.each([sandboxKind, statefulSetKind])("a suspended workload is known as one, and its claim by its name", (kind) => {
  const workload = kind.describe(spec, "sbx-1", "suite", { ...settings, storageClass: "fast" }, new Date(0));
  expect(kind.isSuspended(workload)).toBe(false);
  expect(kind.isSuspended({ ...workload, spec: { ...workload.spec, ...(kind.suspend as { spec: object }).spec } })).toBe(true);
  expect(JSON.stringify(workload)).toContain('"storageClassName":"fast"');
  expect(kind.path("ns", "sbx-1")).toMatch(/^\/apis\/.*\/namespaces\/ns\/.*\/sbx-1$/);
});

test("volumes are mounted by their claims, and their mount points in the home belong to the sandbox's user", () => {
  const [cache, data] = [newId("vol", 1), newId("vol", 2)];
  const volumes: SandboxVolume[] = [
    { id: cache, path: "/home/user/.cache/npm", mode: "rw", sizeMb: 16 },
    { id: data, path: "/mnt/data", mode: "ro", sizeMb: 16 },
  ];
  const [cacheName, dataName] = [volumeNameOf(cache), volumeNameOf(data)];
  const pod = describePod({ ...spec, volumes }, { ...settings, sameNodeAs: [cache] }, "Never");
  expect(restricted(pod)).toBeNull();
  expect(pod.containers[0]!.volumeMounts!.slice(-2)).toEqual([
    { name: cacheName, mountPath: "/home/user/.cache/npm", readOnly: false },
    { name: dataName, mountPath: "/mnt/data", readOnly: true },
  ]);
  expect(pod.volumes).toContainEqual({ name: dataName, persistentVolumeClaim: { claimName: dataName } });
  expect(pod.initContainers).toMatchObject([{ name: "mount-points", securityContext: pod.containers[0]!.securityContext }]);
  expect(pod.initContainers![0]!.command!.at(-1)).toBe(".cache/npm");
  const term = { labelSelector: { matchExpressions: [{ key: `volume.berth.dev/${cacheName}`, operator: "Exists" }] } };
  expect(pod.affinity!.podAffinity!.requiredDuringSchedulingIgnoredDuringExecution).toMatchObject([term]);
  for (const kind of [sandboxKind, statefulSetKind]) {
    const describe = (sameNodeAs: VolumeId[]) =>
      kind.describe({ ...spec, volumes }, "sbx-1", "suite", { ...settings, sameNodeAs }, new Date(0));
    expect(JSON.stringify(describe([]))).toContain(`"volume.berth.dev/${dataName}":""`);
    // The pods of other sandboxes do not make this one another.
    expect(describe([cache]).metadata!.annotations).toEqual(describe([]).metadata!.annotations);
  }
});

test.each([
  ["a repository", { ...spec, image: "example.com/tools:2" }],
  ["a template", { ...spec, template: { ...spec.template, image: "example.com/tools:2" } }],
])("a pod in the image of %s gets the daemon from the default image", (_, given) => {
  const { initContainers, containers, volumes } = describePod(given, settings, "Never");
  expect(containers[0]!.image).toBe("example.com/tools:2");
  expect(containers[0]!.volumeMounts).toContainEqual({ name: "daemon", mountPath: "/opt/berth", readOnly: true });
  expect(initContainers).toMatchObject([{ image: "berth-sandbox:1", volumeMounts: [{ name: "daemon", mountPath: "/daemon" }] }]);
  expect(initContainers![0]!.securityContext).toEqual(containers[0]!.securityContext);
  expect(volumes!.map(({ name }) => name)).toContain("daemon");
});

test("where the images of templates have the daemon, a pod uses it, and the image of a repository gets it from there", () => {
  const template = { ...spec.template, image: "example.com/own:1" };
  const given = { ...settings, templatesHaveDaemon: true };
  expect(describePod({ ...spec, template }, given, "Never")).toMatchObject({ initContainers: [], containers: [{ image: template.image }] });
  const inRepository = describePod({ ...spec, template, image: "example.com/tools:2" }, given, "Never");
  expect(inRepository).toMatchObject({ initContainers: [{ image: template.image }], containers: [{ image: "example.com/tools:2" }] });
});
