import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  V1ConfigMap,
  V1Deployment,
  V1Ingress,
  V1NetworkPolicy,
  V1PolicyRule,
  V1Role,
  V1Secret,
  V1Service,
} from "@kubernetes/client-node";
import { newId } from "@berth/contract";
import { expect, test } from "vitest";
import { machine, testWith } from "../support/machine.ts";
import { parse, parseAllDocuments } from "yaml";
import { firstSession } from "../../cli/commands/installation/serve.ts";
import { VARIABLES } from "../../server/config/variables.ts";
import { ConfigError, readConfig } from "../../server/config/config.ts";
import type { SandboxVolume } from "../../server/drivers/driver.ts";
import { DAEMON_PORT } from "../../server/drivers/kubernetes/cluster/names.ts";
import { statefulSetKind } from "../../server/drivers/kubernetes/workloads/workload-kinds.ts";
import { DEFAULT_TEMPLATE } from "../../server/templates.ts";
import { restricted } from "../support/kubernetes/controllers.ts";
import { faultsOf } from "../support/kubernetes/schema.ts";

const root = join(import.meta.dirname, "../..");
const folder = join(root, "deploy/kubernetes");
const read = (file: string) => readFileSync(join(folder, file), "utf8");

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
}
interface Kustomization {
  resources: string[];
  configMapGenerator: { name: string; namespace: string; envs: string[] }[];
  secretGenerator: { name: string; namespace: string; envs: string[] }[];
}

const kustomization = parse(read("kustomization.yaml")) as Kustomization;
const manifests = kustomization.resources.flatMap((file) => parseAllDocuments(read(file)).map((document) => document.toJS() as Manifest));
const find = <T>(kind: string, name = "berth") =>
  manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name) as T & Manifest;
const envOf = (file: string) =>
  Object.fromEntries(
    read(file)
      .split("\n")
      .filter((line) => line.includes("="))
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );

test("every manifest is valid against the API's description", () => {
  expect(manifests.flatMap(faultsOf)).toEqual([]);
  expect(faultsOf({ apiVersion: "v1", kind: "Service", spec: { port: [], ports: [{ targetPort: "x" }] } } as object)).toEqual([
    "Service.spec.port is not a field",
    "Service.spec.ports[0].port is missing",
  ]);
});

test("every object that the driver creates is valid against the API's description", () => {
  const volumeId = newId("vol", 1);
  const volumes: SandboxVolume[] = [{ id: volumeId, path: "/home/user/.npm", mode: "ro", sizeMb: 16 }];
  const spec = { id: newId("sbx", 1), template: { ...DEFAULT_TEMPLATE, runtime: "gvisor" }, tokenHash: "00".repeat(32), volumes };
  const nodeSelector = { "kubernetes.io/arch": "arm64" };
  const settings = {
    image: "x",
    templatesHaveDaemon: false,
    egress: "10.0.0.1:3129",
    userNamespace: true,
    imagePullSecrets: ["pull"],
    storageClass: "fast",
    nodeSelector,
    sameNodeAs: [volumeId],
  };
  expect(faultsOf(statefulSetKind.describe(spec, "sbx-1", "berth", settings, new Date()))).toEqual([]);
});

testWith(machine.command("kubectl", "kubernetes-client"), "kubectl renders the same objects", () => {
  const rendered = parseAllDocuments(execFileSync("kubectl", ["kustomize", folder], { encoding: "utf8" })).map(
    (document) => document.toJS() as Manifest,
  );
  expect(rendered.flatMap(faultsOf)).toEqual([]);
  const names = (list: Manifest[]) =>
    new Set(
      list
        .filter(({ kind }) => !["ConfigMap", "Secret"].includes(kind))
        .map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""} ${metadata.name}`),
    );
  expect(names(rendered)).toEqual(names(manifests));
  const secret = rendered.find(({ kind }) => kind === "Secret") as V1Secret & Manifest;
  const config = rendered.find(({ kind }) => kind === "ConfigMap") as V1ConfigMap & Manifest;
  const deployment = rendered.find(({ kind }) => kind === "Deployment") as V1Deployment & Manifest;
  expect(deployment.spec?.template.spec?.containers[0]?.envFrom).toEqual([
    { configMapRef: { name: config.metadata.name } },
    { secretRef: { name: secret.metadata.name } },
  ]);
});

test("config.env and secret.env hold known settings, with which the server starts once the placeholders are replaced", () => {
  const env = { ...envOf("config.env"), ...envOf("secret.env") };
  const known = new Set(Object.values(VARIABLES).map(({ name }) => name));
  expect(Object.keys(env).filter((name) => !known.has(name))).toEqual([]);
  expect(() => readConfig(env)).toThrow(ConfigError);
  const filled = {
    ...env,
    BERTH_MASTER_KEY: "ab".repeat(32),
    BERTH_DATABASE_URL: "postgres://berth:x@postgres/berth",
    BERTH_METRICS_TOKEN: "cd".repeat(16),
  };
  expect(readConfig(filled).config).toMatchObject({
    driver: "kubernetes",
    kubernetesNamespace: "berth-sandboxes",
    egressListen: "0.0.0.0:3129",
  });
});

test("the server's own namespace admits its pod", () => {
  expect(restricted(find<V1Deployment>("Deployment").spec!.template.spec!)).toBeNull();
  for (const name of ["berth", "berth-sandboxes"])
    expect(find<{ metadata: { labels: object } }>("Namespace", name).metadata.labels).toMatchObject({
      "pod-security.kubernetes.io/enforce": "restricted",
    });
});

test("the variables of the namespace's Services do not reach the server", () => {
  expect(find<V1Deployment>("Deployment").spec!.template.spec!.enableServiceLinks).toBe(false);
  // A Service called `berth` would set this variable, and the server would refuse to start.
  expect(() => readConfig({ BERTH_PORT: "tcp://10.96.206.78:80" })).toThrow(ConfigError);
});

test("a terminating pod serves until load balancers have removed it, and has time for open requests", () => {
  const { terminationGracePeriodSeconds, containers } = find<V1Deployment>("Deployment").spec!.template.spec!;
  const [program, seconds] = containers[0]!.lifecycle!.preStop!.exec!.command!;
  expect(program).toBe("sleep");
  expect(Number(seconds)).toBeGreaterThanOrEqual(5);
  expect(terminationGracePeriodSeconds).toBeGreaterThan(Number(seconds) + 45);
});

test("the command for the demo key in docs/kubernetes.md asks every replica for the line that one of them prints", () => {
  const docs = readFileSync(join(root, "docs/kubernetes.md"), "utf8");
  const recipe = /^kubectl -n (\S+) logs -l (\S+)=(\S+) --tail=-1 \| grep '(.+?)'/m.exec(docs);
  const [, namespace, label = "", value, pattern = ""] = recipe ?? [];
  const deployment = find<V1Deployment>("Deployment");
  expect(namespace).toBe(deployment.metadata.namespace);
  expect(deployment.spec?.template.metadata?.labels?.[label]).toBe(value);
  const printed = firstSession({ apiKey: null }, "https://berth.example.com", { key: `berth_${"ab".repeat(32)}`, file: "demo-api-key" });
  expect(printed.filter((line) => new RegExp(pattern).test(line))).toEqual([expect.stringContaining(`berth_${"ab".repeat(32)}`)]);
});

test("ports and names agree between server, services, policies and ingress", () => {
  const env = envOf("config.env");
  const container = find<V1Deployment>("Deployment").spec!.template.spec!.containers[0]!;
  const [http, egress] = [Number(env["BERTH_PORT"]), Number(env["BERTH_EGRESS_LISTEN"]?.split(":").at(-1))];
  expect(container.ports?.map(({ containerPort }) => containerPort)).toEqual([http, egress]);
  const service = find<V1Service>("Service", "berth-egress");
  expect(env["BERTH_EGRESS_ADDRESS"]).toBe(`${service.metadata.name}.${service.metadata.namespace}.svc:${service.spec?.ports?.[0]?.port}`);
  const sandboxes = find<V1NetworkPolicy>("NetworkPolicy", "berth-sandboxes").spec!;
  expect(sandboxes.ingress?.flatMap(({ ports }) => ports)).toEqual([{ port: DAEMON_PORT }]);
  expect(sandboxes.egress?.flatMap(({ ports }) => ports)).toEqual([{ port: egress }]);
  expect(sandboxes.policyTypes).toEqual(["Ingress", "Egress"]);
  const hosts = find<V1Ingress>("Ingress").spec?.rules?.map(({ host }) => host);
  expect(hosts).toEqual([new URL(env["BERTH_BASE_URL"]!).host, `*.${env["BERTH_PREVIEW_DOMAIN"]}`]);
});

test("the server's account may do exactly what the driver does, in the sandboxes' namespace alone", () => {
  const { rules, metadata } = find<V1Role>("Role");
  expect(metadata.namespace).toBe("berth-sandboxes");
  expect(rules?.map(({ resources, verbs }: V1PolicyRule) => `${resources?.join(",")}: ${verbs.join(",")}`)).toEqual([
    "sandboxes: create,get,list,patch,delete",
    "sandboxclaims: create,get,list,delete",
    "sandboxwarmpools: get",
    "sandboxtemplates: create,patch",
    "statefulsets: create,get,list,patch,delete",
    "pods: get,list,watch,delete",
    "persistentvolumeclaims: create,get,list,delete",
    "volumesnapshots: create,get,list,delete",
    "events: list",
    "pods: get",
  ]);
  expect(manifests.filter(({ kind }) => kind.startsWith("Cluster"))).toEqual([]);
});

test("the warm pool has the name that the server expects, and replaces its sandboxes after an upgrade", () => {
  const pool = parse(read("warm-pool.yaml")) as Manifest & { spec: { sandboxTemplateRef: { name: string }; updateStrategy: object } };
  expect(pool).toMatchObject({ apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxWarmPool" });
  expect(pool.metadata.namespace).toBe(envOf("config.env")["BERTH_KUBERNETES_NAMESPACE"]);
  expect(pool.spec).toMatchObject({ sandboxTemplateRef: { name: expect.any(String) as string }, updateStrategy: { type: "Recreate" } });
});

test("the compose file holds known settings and existing paths", () => {
  const compose = parse(readFileSync(join(root, "deploy/docker-compose.yml"), "utf8")) as {
    services: { server: { environment: Record<string, string>; volumes: string[]; build: { dockerfile: string } } };
  };
  const { environment, volumes, build } = compose.services.server;
  const known = new Set(Object.values(VARIABLES).map(({ name }) => name));
  expect(Object.keys(environment).filter((name) => !known.has(name))).toEqual([]);
  expect(volumes).toContain(`${environment["BERTH_DATA_DIR"]}:${environment["BERTH_DATA_DIR"]}`);
  expect(existsSync(join(root, build.dockerfile))).toBe(true);
});

testWith(machine.composePlugin(), "Docker Compose accepts the file, and names the variables that must be set", () => {
  const config = (env: Record<string, string>) =>
    spawnSync("docker", ["compose", "-f", join(root, "deploy/docker-compose.yml"), "config", "--quiet"], {
      env: { ...process.env, BERTH_API_KEY: "", BERTH_BASE_URL: "", ...env },
      encoding: "utf8",
    });
  expect(config({ BERTH_MASTER_KEY: "ab".repeat(32), POSTGRES_PASSWORD: "x" })).toMatchObject({ status: 0, stderr: "" });
  expect(config({ BERTH_MASTER_KEY: "ab".repeat(32), POSTGRES_PASSWORD: "" }).stderr).toContain("POSTGRES_PASSWORD is missing a value");
});

testWith(machine.command("systemd-analyze", "systemd"), "systemd accepts the unit", async () => {
  const scratch = await mkdtemp(join(tmpdir(), "berth-unit-"));
  const unit = join(scratch, "berth.service");
  // The unit expects the checkout elsewhere.
  await writeFile(unit, readFileSync(join(root, "deploy/berth.service"), "utf8").replaceAll("/opt/berth-server", root));
  const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", unit], { encoding: "utf8" });
  await rm(scratch, { recursive: true });
  expect([status, stderr]).toEqual([0, ""]);
});

// 9.6 without any of its limits. The rest is what runc, mounts and loop devices need; the unit says why.
const MAX_EXPOSURE = 71;

testWith(machine.command("systemd-analyze", "systemd"), "systemd rates the exposure of the unit at 7.1 or less", () => {
  const args = ["security", "--offline=yes", "--no-pager", `--threshold=${MAX_EXPOSURE}`, join(root, "deploy/berth.service")];
  const { status, stdout } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
  expect([status, /Overall exposure level.*/.exec(stdout)?.[0]]).toEqual([0, expect.any(String)]);
});

test("the unit gives its server no mount namespace, because the next server would not see the disks of running sandboxes", () => {
  const unit = readFileSync(join(root, "deploy/berth.service"), "utf8");
  const namespaced =
    /^(Private(Tmp|Devices|Mounts|Users|Network)|Protect(System|Home|KernelTunables|KernelModules|KernelLogs|ControlGroups|Proc|Hostname)|ProcSubset|\w+Paths|RootDirectory|MountFlags)=/gm;
  expect([...unit.matchAll(namespaced)].map(([setting]) => setting)).toEqual([]);
});

test("the unit holds known settings and names its driver", () => {
  const unit = readFileSync(join(root, "deploy/berth.service"), "utf8");
  const set = Object.fromEntries([...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]));
  expect(readConfig(set).config).toMatchObject({ driver: "oci", dataDir: "/var/lib/berth" });
  expect(readConfig(set).warnings).toEqual([]);
});
