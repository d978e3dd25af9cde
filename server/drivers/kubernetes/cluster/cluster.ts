import { setTimeout as sleep } from "node:timers/promises";
import { Agent, ProxyAgent, type Dispatcher } from "undici";
import type { KubeConfig, KubernetesObject, V1Status } from "@kubernetes/client-node";
import { AppError } from "@berth/contract";
import { splitLines } from "../../../bounded-io/split-lines.ts";

// The part of the Kubernetes API that the driver needs: objects of any kind by their path, cancellable, over kept connections.
// @kubernetes/client-node supplies the address of the cluster and the credentials. Its generated methods are not used, because
// they create a connection pool for every call, take no AbortSignal and have no types for custom resources.
//
// All calls are idempotent and are retried for a few seconds. Then they reject with `sandbox_timeout` if the API server does not
// answer, `engine_unavailable` if it denies the request to our account, `capacity_reached` if a quota is exceeded, and otherwise
// with `sandbox_failed`.
export interface Cluster extends AsyncDisposable {
  // null if the object, or its kind, does not exist.
  get<T>(path: string, signal: AbortSignal, query?: Query): Promise<T | null>;
  // All pages of the list.
  list<T>(path: string, query: Query, signal: AbortSignal): Promise<ObjectList<T>>;
  // null if our account may not list these objects.
  listIfAllowed<T>(path: string, query: Query, signal: AbortSignal): Promise<T[] | null>;
  // null if an object of that name exists.
  create<T>(path: string, object: T, signal: AbortSignal): Promise<T | null>;
  // Applies a JSON merge patch. null if the object does not exist.
  patch<T>(path: string, patch: object, signal: AbortSignal): Promise<T | null>;
  // No-op if the object does not exist.
  remove(path: string, options: object, signal: AbortSignal): Promise<void>;
  // Ends when the API server closes the watch. Throws ResourceVersionTooOld if the server no longer has that version, and an error if a
  // call gets no response: the connection of the watch is then probably dead as well.
  watch<T>(path: string, query: Query, signal: AbortSignal): AsyncIterable<WatchEvent<T>>;
  // Resolves when the API server answers any call, and at the latest after `atMostMs`.
  awaitResponse(atMostMs: number, signal: AbortSignal): Promise<void>;
}

export type Query = Record<string, string>;

export interface ObjectList<T> {
  items: T[];
  metadata: { resourceVersion?: string };
}

export interface WatchEvent<T> {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  object: T & KubernetesObject;
}

export class ResourceVersionTooOld extends Error {}

// For the response to each attempt of a call. The connection of the first one may be dead since an outage, which only silence shows; a
// server that is slow has more time in the next ones.
const RESPONSE_TIMEOUTS_MS = [5_000, 10_000, 20_000, 20_000];
// The API server ends a watch after this long, so a longer silence means that the connection is dead.
const WATCH_SECONDS = 30;
const WATCH_SILENCE_MS = (WATCH_SECONDS + 10) * 1000;
const PAGE_SIZE = "500";

export function createCluster(kubeConfig: KubeConfig): Cluster {
  const server = kubeConfig.getCurrentCluster()?.server.replace(/\/$/, "");
  if (!server) throw new AppError("sandbox_failed", { cause: new Error("the kubeconfig names no cluster") });
  let dispatcher: Promise<Dispatcher> | undefined;
  const watches = new Set<AbortController>();
  const waiting = new Set<() => void>();

  async function send(request: ApiRequest, responseMs = RESPONSE_TIMEOUTS_MS[1]!): Promise<Dispatcher.ResponseData> {
    const { headers } = await credentials(kubeConfig);
    dispatcher ??= createDispatcher(kubeConfig);
    const { method, path, query, body, contentType = "application/json", signal, silenceMs = responseMs } = request;
    return (await dispatcher).request({
      origin: server!,
      method,
      path: `${new URL(server!).pathname.replace(/\/$/, "")}${path}${query ? `?${new URLSearchParams(query).toString()}` : ""}`,
      headers: { ...headers, accept: "application/json", ...(body === undefined ? {} : { "content-type": contentType }) },
      body: body === undefined ? null : JSON.stringify(body),
      headersTimeout: responseMs,
      bodyTimeout: silenceMs,
      signal,
    });
  }

  // Retries while the API server is busy or restarts. A server that has just started denies permitted requests for a few seconds,
  // until it has read the roles, so a denial is retried too.
  async function call<T>(request: ApiRequest): Promise<ApiResponse<T>> {
    for (let attempt = 1; ; attempt++) {
      let response: ApiResponse<T> | undefined;
      let failure: unknown;
      try {
        const received = await send(request, RESPONSE_TIMEOUTS_MS[attempt - 1]);
        for (const resolve of waiting) resolve();
        response = { status: received.statusCode, body: (await received.body.json().catch(() => ({}))) as T };
        if (response.status < 429 && (request.optional || !isDenied(response))) return response;
      } catch (error) {
        request.signal.throwIfAborted();
        failure = error;
        if (isSilence(error)) for (const watch of watches) watch.abort(error);
      }
      if (attempt === RESPONSE_TIMEOUTS_MS.length)
        throw response && isDenied(response) ? refusal(request, response) : timeoutError(failure ?? refusal(request, response!));
      await sleep(100 * 2 ** attempt, undefined, { signal: request.signal });
    }
  }

  // The object of the response, or null if the response has the expected error status.
  async function callExpecting<T>(request: ApiRequest, expected?: number): Promise<T | null> {
    const response = await call<T>(request);
    if (response.status < 300) return response.body;
    if (response.status === expected) return null;
    throw refusal(request, response);
  }

  async function listPages<T>(request: ApiRequest): Promise<ObjectList<T> | null> {
    const items: T[] = [];
    for (let more = ""; ;) {
      const query = { ...request.query, limit: PAGE_SIZE, ...(more ? { continue: more } : {}) };
      const page = await callExpecting<ObjectList<T> & { metadata: { continue?: string } }>(
        { ...request, query },
        request.optional ? 403 : undefined,
      );
      if (!page) return null;
      items.push(...page.items);
      more = page.metadata.continue ?? "";
      if (!more) return { items, metadata: page.metadata };
    }
  }

  return {
    get: (path, signal, query) => callExpecting({ method: "GET", path, signal, ...(query ? { query } : {}) }, 404),
    create: (path, object, signal) => callExpecting({ method: "POST", path, body: object, signal }, 409),
    patch: (path, patch, signal) =>
      callExpecting({ method: "PATCH", path, body: patch, contentType: "application/merge-patch+json", signal }, 404),
    async remove(path, options, signal) {
      await callExpecting({ method: "DELETE", path, body: options, signal }, 404);
    },

    list: async <T>(path: string, query: Query, signal: AbortSignal) => (await listPages<T>({ method: "GET", path, query, signal }))!,
    listIfAllowed: async <T>(path: string, query: Query, signal: AbortSignal) =>
      (await listPages<T>({ method: "GET", path, query, signal, optional: true }))?.items ?? null,

    async *watch<T>(path: string, query: Query, signal: AbortSignal) {
      const broken = new AbortController();
      using _watch = { [Symbol.dispose]: () => watches.delete(broken) };
      watches.add(broken);
      const request: ApiRequest = {
        method: "GET",
        path,
        query: { ...query, watch: "true", allowWatchBookmarks: "true", timeoutSeconds: String(WATCH_SECONDS) },
        signal: AbortSignal.any([signal, broken.signal]),
        silenceMs: WATCH_SILENCE_MS,
      };
      const response = await send(request);
      if (response.statusCode !== 200) {
        const body = (await response.body.json().catch(() => ({}))) as V1Status;
        throw response.statusCode === 410 ? new ResourceVersionTooOld() : refusal(request, { status: response.statusCode, body });
      }
      for await (const line of splitLines(response.body, MAX_LINE)) {
        const event = JSON.parse(line) as WatchEvent<T> | { type: "ERROR"; object: V1Status };
        if (event.type !== "ERROR") yield event;
        else throw event.object.code === 410 ? new ResourceVersionTooOld() : new Error(`watch of ${path}: ${event.object.message}`);
      }
    },

    async awaitResponse(atMostMs, signal) {
      const answered = new AbortController();
      const resolve = () => answered.abort();
      waiting.add(resolve);
      await sleep(atMostMs, undefined, { signal: AbortSignal.any([signal, answered.signal]) }).catch(() => {});
      waiting.delete(resolve);
    },

    async [Symbol.asyncDispose]() {
      await (await dispatcher?.catch(() => undefined))?.destroy();
    },
  };
}

interface ApiRequest {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  query?: Query;
  body?: unknown;
  contentType?: string;
  silenceMs?: number;
  // The caller handles a denial, so it is not retried.
  optional?: boolean;
  signal: AbortSignal;
}

interface ApiResponse<T> {
  status: number;
  body: T;
}

interface Credentials {
  headers: Record<string, string>;
  ca?: Buffer;
  cert?: Buffer;
  key?: Buffer;
  rejectUnauthorized?: boolean;
  servername?: string;
}

// The credentials are read for each request, because the tokens of service accounts are renewed on disk. (The library caches them.)
async function credentials(kubeConfig: KubeConfig): Promise<Credentials> {
  const options: Credentials = { headers: {} };
  await kubeConfig.applyToHTTPSOptions(options);
  return options;
}

async function createDispatcher(kubeConfig: KubeConfig): Promise<Dispatcher> {
  const { ca, cert, key, rejectUnauthorized, servername } = await credentials(kubeConfig);
  const defined = Object.entries({ ca, cert, key, rejectUnauthorized, servername }).filter(([, value]) => value !== undefined);
  const tls = Object.fromEntries(defined);
  const proxy = kubeConfig.getCurrentCluster()?.proxyUrl;
  const limits = { connections: 64, connectTimeout: 5_000 };
  return proxy
    ? new ProxyAgent({ uri: proxy, requestTls: tls, ...limits })
    : new Agent({ connect: { ...tls, timeout: 5_000 }, connections: 64 });
}

// The server has accepted the connection, but does not answer.
const isSilence = (error: unknown) => /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test((error as { code?: string }).code ?? "");

// Whether our account lacks the permission. A 403 of an admission controller (policy, quota) has another message and concerns the
// object, not the account.
function isDenied({ status, body }: ApiResponse<unknown>): boolean {
  return status === 401 || (status === 403 && /User "[^"]*" cannot /.test((body as V1Status).message ?? ""));
}

function refusal({ method, path }: ApiRequest, response: ApiResponse<unknown>): AppError {
  const message = (response.body as V1Status).message ?? "";
  const isOverQuota = response.status === 403 && /exceeded quota/.test(message);
  const code = isDenied(response) ? "engine_unavailable" : isOverQuota ? "capacity_reached" : "sandbox_failed";
  return new AppError(code, { cause: new Error(`kubernetes: ${method} ${path}: ${response.status} ${message}`) });
}

const timeoutError = (cause: unknown) => new AppError("sandbox_timeout", { cause });

const MAX_LINE = 4 * 1024 * 1024;
