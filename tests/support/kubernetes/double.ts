import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KINDS, startApiServer, type ApiServer } from "./api-server.ts";
import { reconcile, restricted } from "./controllers.ts";
import { createKubelet, type Kubelet } from "./nodes/kubelet.ts";
import { createObjects, type ApiObject, type Objects } from "./objects.ts";
import { createPacing, DEFAULT_PACE, type Pace } from "./pace.ts";
import { bindClaims } from "./storage.ts";
import { followSnapshots } from "./volume-snapshots.ts";

// A small Kubernetes: the API over real HTTP, the controllers that the driver relies on, and pods that are real processes.
// Tests can make it drop watches, forget its history, go down, refuse calls and be slow.
export interface KubernetesDouble extends Omit<ApiServer, "port"> {
  kubeconfig: string;
  namespace: string;
  objects: Objects;
  kubelet: Kubelet;
  // Stops the garbage collector until disposed.
  holdGarbage(): Disposable;
  // Runs the controllers as if this much time had passed.
  advance(ms: number): void;
}

export interface DoubleOptions {
  runtimeDir: string;
  crds?: boolean;
  // The warm pools of agent-sandbox: name -> number of ready sandboxes. If missing, the extensions are not installed.
  warmPools?: Record<string, number>;
  nodes?: string[];
  podsPerNode?: number;
  // Nodes without ephemeral-storage, as with the kubelet's `localStorageCapacityIsolation: false`.
  withoutEphemeralStorage?: string[];
  readyDelayMs?: number;
  // How slow its parts are. Default: not slow.
  pace?: Partial<Pace>;
  // How long after its node went silent a pod is evicted; null: never.
  evictAfterMs?: number | null;
  storageClasses?: string[];
  // Whether the storage can make snapshots. Default: it can.
  snapshots?: boolean;
  // The variables of images, by their names.
  imageEnv?: Record<string, Record<string, string>>;
  // Admission beyond Pod Security `restricted`, such as a quota.
  refusePod?: () => string | null;
}

export const MISSING_IMAGE = "registry.invalid/missing:1";

export async function startKubernetesDouble(options: DoubleOptions): Promise<KubernetesDouble> {
  const {
    runtimeDir,
    crds = true,
    nodes = ["node-a", "node-b"],
    podsPerNode = Infinity,
    readyDelayMs = 0,
    evictAfterMs = 200,
    storageClasses = ["standard"],
  } = options;
  const pace = { ...DEFAULT_PACE, ...options.pace };
  const folder = await mkdtemp(join(tmpdir(), "berth-k8s-"));
  // The user of pods reaches its volumes.
  await chmod(folder, 0o711);
  const image = join(folder, "image");
  await mkdir(image);
  // Links, because a copy of the programs takes long.
  for (const name of await readdir(runtimeDir)) await symlink(join(runtimeDir, name), join(image, name));
  const objects = createObjects();
  const kubelet = createKubelet({
    objects,
    image,
    folder: join(folder, "volumes"),
    nodes,
    podsPerNode,
    missingImage: MISSING_IMAGE,
    imageEnv: options.imageEnv ?? {},
    pace,
    readyDelayMs: () => readyDelayMs,
    evictAfterMs,
  });
  for (const name of nodes) {
    const storage = options.withoutEphemeralStorage?.includes(name) ? {} : { "ephemeral-storage": "51474912866" };
    objects.create("nodes", { metadata: { name }, status: { allocatable: { cpu: "2", memory: "8028256Ki", pods: "110", ...storage } } });
  }
  for (const name of storageClasses)
    objects.create("storageclasses", { metadata: { name, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } } });

  const extensions = options.warmPools !== undefined;
  for (const [name, replicas] of Object.entries(options.warmPools ?? {}))
    objects.create("sandboxwarmpools", {
      ...KINDS["sandboxwarmpools"],
      metadata: { name },
      spec: { replicas, sandboxTemplateRef: { name }, updateStrategy: { type: "Recreate" } },
    });

  let skewMs = 0;
  let scheduled = false;
  let collects = true;
  let unheard: Record<string, ApiObject[]> = {};

  // Controllers act a moment after a change, never within the call that made it.
  const stir = () => {
    if (scheduled) return;
    scheduled = true;
    setTimeout(() => {
      scheduled = false;
      const { sandboxes = [], statefulsets = [] } = unheard;
      unheard = {};
      reconcile({
        unheard: { sandboxes, statefulsets },
        objects,
        collects,
        ...pacing,
        deletePod: (name) => kubelet.deletePod(name),
        now: () => Date.now() + skewMs,
        refusePod: (pod) => restricted(pod) ?? options.refusePod?.() ?? null,
        retry: (afterMs) => void setTimeout(stir, afterMs).unref(),
      });
      kubelet.sync();
    }, 5);
  };
  const pacing = createPacing(pace, stir);

  // No controller reacts to Event objects.
  const listening = objects.onChange(({ kind }) => kind === "events" || stir());

  const storage = followSnapshots(objects, join(folder, "volumes"), join(folder, "snapshots"));
  const binding = bindClaims(objects, join(folder, "volumes"));
  const { port, ...api } = await startApiServer({
    snapshots: options.snapshots ?? true,
    objects,
    kubelet,
    crds,
    extensions,
    removed: (resource, object) => void (unheard[resource] ??= []).push(object),
  });
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, JSON.stringify(describeKubeconfig(port)));

  return {
    ...api,
    kubeconfig,
    namespace: "sandboxes",
    objects,
    kubelet,
    holdGarbage() {
      collects = false;
      return {
        [Symbol.dispose]() {
          collects = true;
          stir();
        },
      };
    },
    advance(ms) {
      skewMs += ms;
      stir();
    },
    async [Symbol.asyncDispose]() {
      listening[Symbol.dispose]();
      storage[Symbol.dispose]();
      binding[Symbol.dispose]();
      await kubelet[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const describeKubeconfig = (port: number) => ({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "double",
  contexts: [{ name: "double", context: { cluster: "double", user: "double", namespace: "sandboxes" } }],
  clusters: [{ name: "double", cluster: { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true } }],
  users: [{ name: "double", user: { token: "double" } }],
});
