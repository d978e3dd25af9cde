import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reconcile, restricted } from "./controllers.ts";
import { createKubelet, type Kubelet } from "./kubelet.ts";
import { createObjects, hasField, matches, type ApiObject, type Objects } from "./objects.ts";

// A small honest Kubernetes: the API over real HTTP, the controllers that the driver relies on, and pods that are real
// processes. It can also be unkind: drop watches, forget history, go away, refuse, be slow.
export interface KubernetesDouble extends AsyncDisposable {
  kubeconfig: string;
  namespace: string;
  objects: Objects;
  kubelet: Kubelet;
  dropWatches(): void;
  // Closes the door on everybody, until `comeBack`.
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  // The next `count` calls are answered with this status.
  failNext(count: number, status: number): void;
  // `create pods`: the server's account may not do this.
  forbid(verb: string, resource: string): void;
  // Every call so far, as `METHOD resource`.
  calls: string[];
  // The garbage collector has much else to do until this is disposed of.
  holdGarbage(): Disposable;
  // Runs controllers as if this much time had passed.
  advance(ms: number): void;
}

export interface DoubleOptions {
  runtimeDir: string;
  crds?: boolean;
  // agent-sandbox's pools: name -> how many sandboxes it keeps ready. Without it the extensions are not installed.
  warmPools?: Record<string, number>;
  nodes?: string[];
  readyDelayMs?: number;
  evictAfterMs?: number;
  storageClasses?: string[];
  // Admission beyond Pod Security `restricted`, such as a quota.
  refusePod?: () => string | null;
}

export const MISSING_IMAGE = "registry.invalid/missing:1";

const KINDS: Record<string, { kind: string; apiVersion: string }> = {
  pods: { kind: "Pod", apiVersion: "v1" },
  events: { kind: "Event", apiVersion: "v1" },
  persistentvolumeclaims: { kind: "PersistentVolumeClaim", apiVersion: "v1" },
  statefulsets: { kind: "StatefulSet", apiVersion: "apps/v1" },
  sandboxes: { kind: "Sandbox", apiVersion: "agents.x-k8s.io/v1beta1" },
  sandboxtemplates: { kind: "SandboxTemplate", apiVersion: "extensions.agents.x-k8s.io/v1beta1" },
  sandboxwarmpools: { kind: "SandboxWarmPool", apiVersion: "extensions.agents.x-k8s.io/v1beta1" },
  sandboxclaims: { kind: "SandboxClaim", apiVersion: "extensions.agents.x-k8s.io/v1beta1" },
  storageclasses: { kind: "StorageClass", apiVersion: "storage.k8s.io/v1" },
};

export async function startKubernetesDouble(options: DoubleOptions): Promise<KubernetesDouble> {
  const {
    runtimeDir,
    crds = true,
    nodes = ["node-a", "node-b"],
    readyDelayMs = 0,
    evictAfterMs = 200,
    storageClasses = ["standard"],
  } = options;
  const folder = await mkdtemp(join(tmpdir(), "berth-k8s-"));
  const objects = createObjects();
  const kubelet = createKubelet({
    objects,
    runtimeDir,
    folder: join(folder, "volumes"),
    nodes,
    missingImage: MISSING_IMAGE,
    readyDelayMs: () => readyDelayMs,
    evictAfterMs,
  });
  for (const name of storageClasses)
    objects.create("storageclasses", { metadata: { name, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } } });

  const extensions = options.warmPools !== undefined;
  for (const [name, replicas] of Object.entries(options.warmPools ?? {}))
    objects.create("sandboxwarmpools", {
      ...KINDS["sandboxwarmpools"],
      metadata: { name },
      spec: { replicas, sandboxTemplateRef: { name }, updateStrategy: { type: "Recreate" } },
    });

  const sockets = new Set<Socket>();
  const watches = new Set<ServerResponse>();
  const forbidden = new Set<string>();
  const calls: string[] = [];
  const failures: number[] = [];
  let skewMs = 0;
  let scheduled = false;
  let collects = true;
  let unheard: Record<string, ApiObject[]> = {};

  // Controllers act a moment after the change, never within the call that made it.
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
        deletePod: (name) => kubelet.deletePod(name),
        now: () => Date.now() + skewMs,
        refusePod: (pod) => restricted(pod) ?? options.refusePod?.() ?? null,
        retry: (afterMs) => void setTimeout(stir, afterMs).unref(),
      });
      kubelet.sync();
    }, 5);
  };
  // No controller waits for an event.
  const listening = objects.onChange(({ kind }) => kind === "events" || stir());

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => send(response, 500, { message: String(error) }));
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, JSON.stringify(describeKubeconfig(port)));

  function listen(at: number): Promise<void> {
    return new Promise((resolve) => server.listen(at, "127.0.0.1", resolve));
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://api");
    const target = parsePath(url.pathname);
    calls.push(`${request.method} ${target?.resource ?? url.pathname}`);
    if (request.headers.authorization !== "Bearer double") return send(response, 401, { message: "Unauthorized" });
    const failure = failures.shift();
    if (failure) return send(response, failure, { message: "told to fail" });
    if (url.pathname === "/version") return send(response, 200, { gitVersion: "v1.36.0-double" });
    if (url.pathname === "/apis/extensions.agents.x-k8s.io/v1beta1")
      return extensions ? send(response, 200, { resources: [] }) : send(response, 404, { message: "not found" });
    if (url.pathname === "/apis/agents.x-k8s.io/v1beta1")
      return crds ? send(response, 200, { resources: [] }) : send(response, 404, { message: "not found" });
    const body = await readJson(request);
    if (url.pathname.endsWith("/selfsubjectaccessreviews")) return review(response, body);
    const isExtension = url.pathname.startsWith("/apis/extensions.agents.x-k8s.io/");
    if (!target || !KINDS[target.resource] || (target.resource === "sandboxes" && !crds) || (isExtension && !extensions))
      return send(response, 404, { message: "the server could not find the requested resource" });
    if (url.pathname.startsWith("/apis/metrics.k8s.io/")) return measure(response, target.name ?? "");
    const verb = verbOf(request.method!, target.name, url);
    if (forbidden.has(`${verb} ${target.resource}`))
      return send(response, 403, { message: `${target.resource} is forbidden: User "double" cannot ${verb}` });
    if (verb === "watch") return watch(response, target.resource, url);
    act(response, verb, target, url, body);
  }

  function act(response: ServerResponse, verb: string, { resource, name }: Target, url: URL, body: Record<string, unknown>): void {
    const found = name === undefined ? undefined : objects.get(resource, name);
    if (verb === "list") {
      const items = objects
        .list(resource, url.searchParams.get("labelSelector") ?? "")
        .filter((object) => hasField(object, url.searchParams.get("fieldSelector") ?? ""));
      return send(response, 200, {
        ...KINDS[resource],
        kind: `${KINDS[resource]!.kind}List`,
        metadata: { resourceVersion: String(objects.version) },
        items,
      });
    }
    if (verb === "create") {
      const made = objects.create(resource, body as unknown as ApiObject);
      return made ? send(response, 201, made) : send(response, 409, { reason: "AlreadyExists", message: "already exists" });
    }
    if (!found) return send(response, 404, { reason: "NotFound", message: `${resource} "${name}" not found` });
    if (verb === "get") return send(response, 200, found);
    if (verb === "patch") {
      const expected = (body["metadata"] as { resourceVersion?: string } | undefined)?.resourceVersion;
      if (expected !== undefined && expected !== found.metadata.resourceVersion)
        return send(response, 409, { reason: "Conflict", message: "the object has been modified" });
      return send(response, 200, objects.merge(resource, name!, body));
    }
    if (resource === "pods") kubelet.deletePod(name!, body["gracePeriodSeconds"] as number | undefined);
    else if (resource === "persistentvolumeclaims")
      objects.merge(resource, name!, { metadata: { deletionTimestamp: new Date().toISOString() } });
    else {
      (unheard[resource] ??= []).push(found);
      objects.remove(resource, name!);
    }
    send(response, 200, { status: "Success" });
  }

  function watch(response: ServerResponse, resource: string, url: URL): void {
    const selector = url.searchParams.get("labelSelector") ?? "";
    const missed = objects.since(Number(url.searchParams.get("resourceVersion") ?? 0));
    response.writeHead(200, { "content-type": "application/json" });
    const tell = (type: string, object: object) => response.write(`${JSON.stringify({ type, object })}\n`);
    if (!missed) {
      tell("ERROR", { code: 410, reason: "Expired", message: "too old resource version" });
      return void response.end();
    }
    response.flushHeaders();
    const pass = ({ kind, type, object }: { kind: string; type: string; object: ApiObject }) =>
      kind === resource && matches(object, selector) && tell(type, object);
    missed.forEach(pass);
    tell("BOOKMARK", { ...KINDS[resource], metadata: { resourceVersion: String(objects.version) } });
    const subscription = objects.onChange(pass);
    watches.add(response);
    response.once("close", () => {
      subscription[Symbol.dispose]();
      watches.delete(response);
    });
  }

  function measure(response: ServerResponse, pod: string): void {
    const status = readFileSync(`/proc/${kubelet.pidOf(pod) ?? "none"}/status`, "utf8");
    send(response, 200, { containers: [{ name: "sandbox", usage: { cpu: "1m", memory: `${/VmRSS:\s+(\d+)/.exec(status)?.[1]}Ki` } }] });
  }

  function review(response: ServerResponse, body: Record<string, unknown>): void {
    const { verb, resource } = (body["spec"] as { resourceAttributes: { verb: string; resource: string } }).resourceAttributes;
    send(response, 201, { ...body, status: { allowed: !forbidden.has(`${verb} ${resource}`) } });
  }

  return {
    kubeconfig,
    namespace: "sandboxes",
    objects,
    kubelet,
    calls,
    dropWatches: () => watches.forEach((response) => response.destroy()),
    async goAway() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    comeBack: () => listen(port),
    failNext: (count, status) => void failures.push(...Array<number>(count).fill(status)),
    forbid: (verb, resource) => void forbidden.add(`${verb} ${resource}`),
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
      await kubelet[Symbol.asyncDispose]();
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Target {
  resource: string;
  name?: string;
}

function parsePath(path: string): Target | undefined {
  const match = /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+)?\/([a-z]+)(?:\/([^/]+))?$/.exec(path);
  return match ? { resource: match[1]!, ...(match[2] ? { name: match[2] } : {}) } : undefined;
}

function verbOf(method: string, name: string | undefined, url: URL): string {
  if (method === "GET" && url.searchParams.get("watch") === "true") return "watch";
  if (method === "GET") return name === undefined ? "list" : "get";
  return ({ POST: "create", PATCH: "patch", DELETE: "delete" } as Record<string, string>)[method] ?? method;
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(status >= 400 ? { kind: "Status", code: status, ...body } : body));
}

const describeKubeconfig = (port: number) => ({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "double",
  contexts: [{ name: "double", context: { cluster: "double", user: "double", namespace: "sandboxes" } }],
  clusters: [{ name: "double", cluster: { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true } }],
  users: [{ name: "double", user: { token: "double" } }],
});
