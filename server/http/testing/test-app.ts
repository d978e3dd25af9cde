import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { AppError } from "@berth/contract";
import type { ConsoleServer } from "@berth/contract/console.ts";
import { openMigratedStore } from "../../../tests/support/databases/migrated.ts";
import { systemClock, type Clock } from "../../clock.ts";
import { readConfig } from "../../config/config.ts";
import { createFeed } from "../../events/feed.ts";
import { createEndpoints } from "../../events/webhooks/endpoints.ts";
import { createWebhooks, type Webhooks } from "../../events/webhooks/webhooks.ts";
import { createTickets } from "../../gateway/access/launch-ticket.ts";
import { createConsoleLogins } from "../../keys/console/console-logins.ts";
import { createAuthenticator } from "../../keys/authenticate.ts";
import { createApiAuthentication } from "../../keys/authenticate-session.ts";
import { createCallsUnderWay } from "../../sessions/calls-under-way.ts";
import { createSessionTokens } from "../../keys/session-tokens.ts";
import { issueKey } from "../../keys/keys.ts";
import { createVolumes } from "../../sessions/volumes/volumes.ts";
import type { OidcProvider } from "../../keys/console/oidc-provider.ts";
import { createOwnKeys } from "../../keys/own-keys.ts";
import { createPartner, type PartnerChanges } from "../../keys/partners.ts";
import { silentLog, type Log } from "../../log.ts";
import { createSecrets } from "../../secrets/secrets.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import type { Store } from "../../store/open.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { createUsageReports } from "../../usage/usage-reports.ts";
import { createApp, type App, type AppDeps } from "../app.ts";
import { checkReply } from "./check-reply.ts";
import { NO_RUNS } from "./no-runs.ts";
import { NO_SNAPSHOTS } from "./no-snapshots.ts";
import { createMemorySessions } from "./memory-sessions.ts";

// The HTTP API on a free port, with a real store and without sandboxes.
export interface TestApp extends AsyncDisposable {
  app: App;
  base: string;
  port: number;
  // The API key of partner `acme`.
  key: string;
  keyId: string;
  store: Store;
  sessions: Sessions;
  webhooks: Webhooks;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  addPartner(id: string, changes?: PartnerChanges): Promise<string>;
}

export interface CallOptions {
  // A string is sent unchanged, anything else as JSON.
  body?: unknown;
  headers?: Record<string, string>;
  key?: string | null;
}

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  // The body as JSON.
  json: never;
}

export interface TestAppOptions extends Partial<AppDeps> {
  clock?: Clock;
  log?: Log;
  oidc?: OidcProvider;
  // The PostgreSQL database to use; a new SQLite file if absent.
  url?: string;
}

const SERVER: ConsoleServer = {
  driver: "process",
  createSeconds: [],
  pool: { warm: 0, misses: 0 },
  refusals: [],
  webhooks: { pending: 0, dueSince: null },
  machine: { cpus: 1, load: 0, memoryBytes: 1, memoryFreeBytes: 1, diskBytes: 1, disk: "enough", diskFreeBytes: 1 },
};

export const TEST_BASE_URL = "https://berth.example";

export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const { clock = systemClock, log = silentLog, url, oidc = null, ...overrides } = options;
  const folder = await mkdtemp(join(tmpdir(), "berth-http-"));
  const store = overrides.store ?? (await openMigratedStore({ url, file: join(folder, "berth.db"), log }));
  const authenticator = createAuthenticator({ store, clock, log });
  const secrets = createSecrets([Buffer.alloc(32, 7)]);
  const sessions = overrides.sessions ?? createMemorySessions(store, clock);
  const tickets = createTickets({ secrets, baseUrl: TEST_BASE_URL, ttlMs: 300_000, clock });
  const sessionTokens = createSessionTokens({ store, secrets, clock });
  const authenticate = createApiAuthentication({ keys: authenticator, tokens: sessionTokens });
  const templates = new Map(["default", "python"].map((name) => [name, { ...DEFAULT_TEMPLATE, name }]));
  // Tests decide when webhooks are sent. A clock that jumps by a day would otherwise poll 86,400 times.
  const withoutTimers: Clock = { now: () => clock.now(), every: () => ({ async [Symbol.asyncDispose]() {} }) };
  const webhooks = createWebhooks({ store, secrets, clock: withoutTimers, log, owner: randomUUID(), allowPrivate: true });
  const endpoints = createEndpoints({ store, secrets, clock, allowPrivate: true, onQueued: webhooks.wake });
  const feed = createFeed({ store, sessions, clock });
  const app = await createApp({
    snapshots: NO_SNAPSHOTS,
    runs: NO_RUNS,
    calls: createCallsUnderWay(),
    relayStream: () => Promise.reject(new AppError("sandbox_unreachable")),
    feed,
    endpoints,
    sessionTokens,
    issuePreviewUrl: () => Promise.reject(new AppError("not_found")),
    readSshHostKey: async () => null,
    ownKeys: createOwnKeys({ store, clock, onChange: authenticator.forget }),
    usage: createUsageReports({ store, clock, prices: readConfig({}).config }),
    volumes: createVolumes({
      store,
      driver: { name: "process", volumes: { paths: "all", list: async () => [], remove: async () => {} } },
      site: { driver: "process", host: null },
      clock,
      limits: { volumes: 3, volumesMb: 1024 },
    }),
    authenticate,
    tickets,
    templates,
    secrets,
    clock,
    log,
    host: randomUUID(),
    baseUrl: TEST_BASE_URL,
    servers: { learn: async () => {}, baseUrlOf: () => TEST_BASE_URL },
    registry: new Registry(),
    metricsToken: null,
    ratePerMinute: 0,
    closeMs: 10_000,
    quietMs: 0,
    localPartner: null,
    console: {
      logins: createConsoleLogins({
        store,
        clock,
        authenticate: authenticator.authenticate,
        hasRule: (rule) => oidc?.hasRule(rule) ?? false,
      }),
      oidc,
      forgetKeys: authenticator.forget,
      pageFile: join(folder, "console.html"),
      readServer: async () => SERVER,
      readStats: async () => null,
      poolTargets: () => new Map(),
      imageState: () => null,
      examine: async () => [],
    },
    ...overrides,
    sessions,
    store,
  });
  const { port } = await app.listen({ host: "127.0.0.1", port: 0 });
  const base = `http://127.0.0.1:${port}`;

  const addPartner = async (id: string, changes?: PartnerChanges) => {
    await createPartner(store.db, clock, id, changes);
    return issueKey(store.db, clock, id);
  };
  // A shared store already has the partner.
  const { key, id: keyId } = await (overrides.store ? issueKey(store.db, clock, "acme") : addPartner("acme"));

  return {
    app,
    base,
    port,
    key,
    keyId,
    store,
    sessions,
    webhooks,
    addPartner: async (id, changes) => (await addPartner(id, changes)).key,
    async call(method, path, { body, headers = {}, key: other = key } = {}) {
      const response = await fetchReply(`${base}${path}`, {
        method,
        headers: {
          ...(other !== null && { authorization: `Bearer ${other}` }),
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      checkReply(method, path, response.status, response.text);
      return response;
    },
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      feed[Symbol.dispose]();
      await webhooks[Symbol.asyncDispose]();
      await authenticator[Symbol.asyncDispose]();
      if (!overrides.store) await store[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function fetchReply(url: string, init: RequestInit): Promise<Reply> {
  const response = await fetch(url, init);
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text) as never;
    },
  };
}
