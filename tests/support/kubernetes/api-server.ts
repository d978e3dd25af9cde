import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Kubelet } from "./nodes/kubelet.ts";
import { hasField, matches, type ApiObject, type Objects } from "./objects.ts";

// The API of the double, over real HTTP. Tests can make it drop watches, forget its history, go down and refuse calls.
export interface ApiServer extends AsyncDisposable {
  port: number;
  // Every call so far, as `METHOD resource`.
  calls: string[];
  dropWatches(): void;
  // Refuses every connection until `comeBack`.
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  // No open connection is answered any more, and none is closed, as after an outage of the network.
  goSilent(): void;
  // Sends the responses to such a call (`GET pods`) later than they were true. Returns the times of these calls.
  delayAnswers(call: string, delayMs: number): number[];
  // Answers the next `count` calls with this status. A server that has not loaded its roles yet answers 403.
  failNext(count: number, status: number): void;
  // Takes a permission from the server's account, such as `create pods`.
  forbid(verb: string, resource: string): void;
  // Makes an admission controller refuse it, with this message.
  refuse(verb: string, resource: string, message: string): void;
}

export interface ApiServerOptions {
  objects: Objects;
  kubelet: Kubelet;
  // Whether agent-sandbox is installed, and whether its extensions are.
  crds: boolean;
  extensions: boolean;
  // Whether the storage can make snapshots.
  snapshots: boolean;
  // Called before an object that controllers act on is deleted.
  removed(resource: string, object: ApiObject): void;
}

export const KINDS: Record<string, { kind: string; apiVersion: string }> = {
  nodes: { kind: "Node", apiVersion: "v1" },
  pods: { kind: "Pod", apiVersion: "v1" },
  events: { kind: "Event", apiVersion: "v1" },
  persistentvolumeclaims: { kind: "PersistentVolumeClaim", apiVersion: "v1" },
  statefulsets: { kind: "StatefulSet", apiVersion: "apps/v1" },
  sandboxes: { kind: "Sandbox", apiVersion: "agents.x-k8s.io/v1beta1" },
  sandboxtemplates: { kind: "SandboxTemplate", apiVersion: "extensions.agents.x-k8s.io/v1beta1" },
  sandboxwarmpools: { kind: "SandboxWarmPool", apiVersion: "extensions.agents.x-k8s.io/v1beta1" },
  sandboxclaims: { kind: "SandboxClaim", apiVersion: "extensions.agents.x-k8s.io/v1beta1" },
  volumesnapshots: { kind: "VolumeSnapshot", apiVersion: "snapshot.storage.k8s.io/v1" },
  storageclasses: { kind: "StorageClass", apiVersion: "storage.k8s.io/v1" },
};

export async function startApiServer({ objects, kubelet, crds, extensions, snapshots, removed }: ApiServerOptions): Promise<ApiServer> {
  const sockets = new Set<Socket>();
  const watches = new Set<ServerResponse>();
  const forbidden = new Set<string>();
  const refused = new Map<string, string>();
  const calls: string[] = [];
  const failures: number[] = [];
  const silent = new WeakSet<Socket>();
  const delays = new Map<string, { delayMs: number; times: number[] }>();

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => send(response, 500, { message: String(error) }));
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await listen(0);
  const { port } = server.address() as AddressInfo;

  function listen(at: number): Promise<void> {
    return new Promise((resolve) => server.listen(at, "127.0.0.1", resolve));
  }

  async function goAway(): Promise<void> {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://api");
    const target = parsePath(url.pathname);
    const call = `${request.method} ${target?.resource ?? url.pathname}`;
    calls.push(call);
    if (silent.has(request.socket)) return;
    if (request.headers.authorization !== "Bearer double") return send(response, 401, { message: "Unauthorized" });
    const failure = failures.shift();
    if (failure === 403)
      return send(response, 403, { message: 'this is forbidden: User "double" cannot do it: RBAC: role "berth" not found' });
    if (failure) return send(response, failure, { message: "failure requested by the test" });
    if (url.pathname === "/version") return send(response, 200, { gitVersion: "v1.36.0-double" });
    if (url.pathname === "/apis/extensions.agents.x-k8s.io/v1beta1")
      return extensions ? send(response, 200, { resources: [] }) : send(response, 404, { message: "not found" });
    if (url.pathname === "/apis/snapshot.storage.k8s.io/v1")
      return snapshots ? send(response, 200, { resources: [] }) : send(response, 404, { message: "not found" });
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
    const refusal = refused.get(`${verb} ${target.resource}`);
    if (refusal !== undefined) return send(response, 403, { message: refusal });
    if (verb === "watch") return watch(response, target.resource, url);
    const delay = delays.get(call);
    delay?.times.push(performance.now());
    if (delay) holdAnswer(response, delay.delayMs);
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
      removed(resource, found);
      objects.remove(resource, name!);
    }
    send(response, 200, { status: "Success" });
  }

  function watch(response: ServerResponse, resource: string, url: URL): void {
    const selector = url.searchParams.get("labelSelector") ?? "";
    const missed = objects.since(Number(url.searchParams.get("resourceVersion") ?? 0));
    response.writeHead(200, { "content-type": "application/json" });
    const tell = (type: string, object: object) => silent.has(response.socket!) || response.write(`${JSON.stringify({ type, object })}\n`);
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
    port,
    calls,
    dropWatches: () => watches.forEach((response) => response.destroy()),
    goAway,
    comeBack: () => listen(port),
    goSilent: () => sockets.forEach((socket) => silent.add(socket)),
    delayAnswers(call, delayMs) {
      const times: number[] = [];
      delays.set(call, { delayMs, times });
      return times;
    },
    failNext: (count, status) => void failures.splice(0, failures.length, ...Array<number>(count).fill(status)),
    forbid: (verb, resource) => void forbidden.add(`${verb} ${resource}`),
    refuse: (verb, resource, message) => void refused.set(`${verb} ${resource}`, message),
    [Symbol.asyncDispose]: goAway,
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

function holdAnswer(response: ServerResponse, delayMs: number): void {
  const end = response.end.bind(response);
  response.end = ((body: string) => setTimeout(() => end(body), delayMs).unref()) as unknown as typeof response.end;
}
