import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { startKubernetesDouble } from "../support/kubernetes/double.ts";
import { daemonRuntime } from "../support/runtime.ts";
import { runCli } from "../support/servers/cli.ts";

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

async function berth(command: string, env: Record<string, string>): Promise<{ code: number; output: string }> {
  const folder = await mkdtemp(join(tmpdir(), "berth-doctor-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const settings = {
    PATH: process.env["PATH"] ?? "",
    HOME: folder,
    BERTH_DATA_DIR: folder,
    BERTH_PORT: "0",
    BERTH_LOG_LEVEL: "error",
    ...env,
  };
  const { code, stdout, stderr } = await runCli({ env: settings, dataDir: folder }, command);
  return { code, output: stdout + stderr };
}

test("a server without its cluster says what to do", async () => {
  const { code, output } = await berth("serve", { BERTH_DRIVER: "kubernetes" });
  expect(code).toBe(1);
  expect(output.trim()).toBe(
    "berth: The driver kubernetes cannot be used: No kubeconfig can be read (there is none, and the server does not run in a pod). Set BERTH_KUBECONFIG, or run the server inside the cluster.",
  );
});

test("a server without its Docker Engine says what to do", async () => {
  const { code, output } = await berth("serve", { BERTH_DRIVER: "docker", BERTH_DOCKER_SOCKET: "/nowhere/docker.sock" });
  expect(code).toBe(1);
  expect(output.trim()).toBe(
    "berth: The driver docker cannot be used: No Docker Engine answers at /nowhere/docker.sock. Start one, or set BERTH_DOCKER_SOCKET to its socket.",
  );
});

test("the doctor names missing parts of a cluster", async () => {
  const double = stack.use(
    await startKubernetesDouble({
      runtimeDir: await daemonRuntime(),
      crds: false,
      storageClasses: [],
      withoutEphemeralStorage: ["node-a", "node-b"],
    }),
  );
  double.forbid("create", "statefulsets");
  const { code, output } = await berth("doctor", { BERTH_DRIVER: "kubernetes", BERTH_KUBECONFIG: double.kubeconfig });
  expect(code).toBe(1);
  expect(output).toContain("the server may not create statefulsets in sandboxes (see deploy/kubernetes/role.yaml)");
  expect(output).toContain("it has no default storage class (set BERTH_KUBERNETES_STORAGE_CLASS)");
  expect(output).toContain("none of its nodes offers ephemeral-storage");
});

test("the doctor reports whether agent-sandbox is installed", async () => {
  const double = stack.use(await startKubernetesDouble({ runtimeDir: await daemonRuntime(), crds: false }));
  const { output } = await berth("doctor", { BERTH_DRIVER: "kubernetes", BERTH_KUBECONFIG: double.kubeconfig });
  expect(output).toContain("agent-sandbox is not installed, so sandboxes are StatefulSets");
});
