import { setTimeout as sleep } from "node:timers/promises";
import { Agent, ProxyAgent, type Dispatcher } from "undici";
import type { KubeConfig, KubernetesObject, V1Status } from "@kubernetes/client-node";
import { AppError } from "@berth/contract";
import { splitLines } from "../../../bounded-io/split-lines.ts";

// The Kubernetes API as the driver needs it: any kind of object by its path, cancellable, over connections that are kept.
// @kubernetes/client-node knows where the cluster is and who we are; its generated methods are not used because they make
// a new connection pool for every call, take no AbortSignal and have no types for custom resources.
export interface Cluster extends AsyncDisposable {
  // null when there is no such object (or no such kind of object).
  get<T>(path: string, signal: AbortSignal, query?: Query): Promise<T | null>;
  // Every page.
  list<T>(path: string, query: Query, signal: AbortSignal): Promise<ObjectList<T>>;
  // For what the driver can do without: null when our account may not look.
  listIfAllowed<T>(path: string, query: Query, signal: AbortSignal): Promise<T[] | null>;
  // null when an object of that name exists already.
  create<T>(path: string, object: T, signal: AbortSignal): Promise<T | null>;
  // A JSON merge patch. null when there is no such object.
  patch<T>(path: string, patch: object, signal: AbortSignal): Promise<T | null>;
  // Content when there is nothing to delete.
  remove(path: string, options: object, signal: AbortSignal): Promise<void>;
  // Ends when the server closes it. A resource version that is too old ends in `TooOld`.
  watch<T>(path: string, query: Query, signal: AbortSignal): AsyncIterable<WatchEvent<T>>;
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

export class TooOld extends Error {}

const CALL_TIMEOUT_MS = 20_000;
// A watch with nothing to tell is closed by the server after some minutes; bookmarks come at least once a minute.
const WATCH_SILENCE_MS = 120_000;
const PAGE = "500";
const TRIES = 4;

export function createCluster(kubeConfig: KubeConfig): Cluster {
  const server = kubeConfig.getCurrentCluster()?.server.replace(/\/$/, "");
  if (!server) throw new AppError("sandbox_failed", { cause: new Error("the kubeconfig names no cluster") });
  let dispatcher: Promise<Dispatcher> | undefined;

  async function send(request: Request): Promise<Dispatcher.ResponseData> {
    const { headers } = await credentials(kubeConfig);
    dispatcher ??= createDispatcher(kubeConfig);
    const { method, path, query, body, contentType = "application/json", signal, silenceMs = CALL_TIMEOUT_MS } = request;
    return (await dispatcher).request({
      origin: server!,
      method,
      path: `${new URL(server!).pathname.replace(/\/$/, "")}${path}${query ? `?${new URLSearchParams(query).toString()}` : ""}`,
      headers: { ...headers, accept: "application/json", ...(body === undefined ? {} : { "content-type": contentType }) },
      body: body === undefined ? null : JSON.stringify(body),
      headersTimeout: CALL_TIMEOUT_MS,
      bodyTimeout: silenceMs,
      signal,
    });
  }

  // A busy or restarting API server is asked again for a while; all our calls may be repeated. One that starts denies what
  // it will allow a few seconds later, because it has not read the roles yet.
  async function call<T>(request: Request): Promise<Answer<T>> {
    for (let tries = 1; ; tries++) {
      let answer: Answer<T> | undefined;
      let failure: unknown;
      try {
        const response = await send(request);
        answer = { status: response.statusCode, body: (await response.body.json().catch(() => ({}))) as T };
        if (answer.status < 429 && (request.optional || !isDenied(answer))) return answer;
      } catch (error) {
        request.signal.throwIfAborted();
        failure = error;
      }
      if (tries === TRIES) throw answer && isDenied(answer) ? refusal(request, answer) : unanswered(failure ?? refusal(request, answer!));
      await sleep(100 * 2 ** tries, undefined, { signal: request.signal });
    }
  }

  // The answer's object; null for the one status that the caller is prepared for.
  async function ask<T>(request: Request, expected?: number): Promise<T | null> {
    const answer = await call<T>(request);
    if (answer.status < 300) return answer.body;
    if (answer.status === expected) return null;
    throw refusal(request, answer);
  }

  async function listPages<T>(request: Request): Promise<ObjectList<T> | null> {
    const items: T[] = [];
    for (let more = ""; ;) {
      const query = { ...request.query, limit: PAGE, ...(more ? { continue: more } : {}) };
      const page = await ask<ObjectList<T> & { metadata: { continue?: string } }>(
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
    get: (path, signal, query) => ask({ method: "GET", path, signal, ...(query ? { query } : {}) }, 404),
    create: (path, object, signal) => ask({ method: "POST", path, body: object, signal }, 409),
    patch: (path, patch, signal) => ask({ method: "PATCH", path, body: patch, contentType: "application/merge-patch+json", signal }, 404),
    async remove(path, options, signal) {
      await ask({ method: "DELETE", path, body: options, signal }, 404);
    },

    list: async <T>(path: string, query: Query, signal: AbortSignal) => (await listPages<T>({ method: "GET", path, query, signal }))!,
    listIfAllowed: async <T>(path: string, query: Query, signal: AbortSignal) =>
      (await listPages<T>({ method: "GET", path, query, signal, optional: true }))?.items ?? null,

    async *watch<T>(path: string, query: Query, signal: AbortSignal) {
      const request: Request = {
        method: "GET",
        path,
        query: { ...query, watch: "true", allowWatchBookmarks: "true" },
        signal,
        silenceMs: WATCH_SILENCE_MS,
      };
      const response = await send(request);
      if (response.statusCode !== 200) {
        const body = (await response.body.json().catch(() => ({}))) as V1Status;
        throw response.statusCode === 410 ? new TooOld() : refusal(request, { status: response.statusCode, body });
      }
      for await (const line of splitLines(response.body, MAX_LINE)) {
        const event = JSON.parse(line) as WatchEvent<T> | { type: "ERROR"; object: V1Status };
        if (event.type !== "ERROR") yield event;
        else throw event.object.code === 410 ? new TooOld() : new Error(`watch of ${path}: ${event.object.message}`);
      }
    },

    async [Symbol.asyncDispose]() {
      await (await dispatcher?.catch(() => undefined))?.destroy();
    },
  };
}

interface Request {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  query?: Query;
  body?: unknown;
  contentType?: string;
  silenceMs?: number;
  // The caller is prepared for being denied it.
  optional?: boolean;
  signal: AbortSignal;
}

interface Answer<T> {
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

// Tokens of service accounts are renewed on disk, so the header is asked for anew each time (the library caches it).
async function credentials(kubeConfig: KubeConfig): Promise<Credentials> {
  const options: Credentials = { headers: {} };
  await kubeConfig.applyToHTTPSOptions(options);
  return options;
}

async function createDispatcher(kubeConfig: KubeConfig): Promise<Dispatcher> {
  const { ca, cert, key, rejectUnauthorized, servername } = await credentials(kubeConfig);
  const given = Object.entries({ ca, cert, key, rejectUnauthorized, servername }).filter(([, value]) => value !== undefined);
  const tls = Object.fromEntries(given);
  const proxy = kubeConfig.getCurrentCluster()?.proxyUrl;
  const limits = { connections: 64, connectTimeout: 5_000 };
  return proxy
    ? new ProxyAgent({ uri: proxy, requestTls: tls, ...limits })
    : new Agent({ connect: { ...tls, timeout: 5_000 }, connections: 64 });
}

// The account may not do this. A 403 of an admission (a policy, a quota) says other words, and is about the object.
function isDenied({ status, body }: Answer<unknown>): boolean {
  return status === 401 || (status === 403 && /User "[^"]*" cannot /.test((body as V1Status).message ?? ""));
}

function refusal({ method, path }: Request, answer: Answer<unknown>): AppError {
  const said = (answer.body as V1Status).message ?? "";
  const full = answer.status === 403 && /exceeded quota/.test(said);
  const code = isDenied(answer) ? "engine_unavailable" : full ? "capacity_reached" : "sandbox_failed";
  return new AppError(code, { cause: new Error(`kubernetes: ${method} ${path}: ${answer.status} ${said}`) });
}

const unanswered = (cause: unknown) => new AppError("sandbox_timeout", { cause });

const MAX_LINE = 4 * 1024 * 1024;
