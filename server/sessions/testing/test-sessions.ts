import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "@berth/contract";
import { openMigratedStore } from "../../../tests/support/databases/migrated.ts";
import { MINUTE } from "../../clock.ts";
import { createTestClock } from "../../testing/test-clock.ts";
import { createProcessDriver } from "../../drivers/process/process.ts";
import type { Driver } from "../../drivers/driver.ts";
import { createPartner } from "../../keys/partners.ts";
import { createDaemonLinks, type DaemonLinks } from "../../daemon-link/daemon-links.ts";
import { withNews } from "../../daemon-link/link-news.ts";
import { silentLog } from "../../log.ts";
import { createSecrets } from "../../secrets/secrets.ts";
import { readSandboxAccess } from "../../store/sessions/read.ts";
import { loadTemplates } from "../../templates.ts";
import { createSessionServices, type SessionServicesDeps } from "../session-services.ts";
import type { CreateRequest } from "../sessions.ts";

export type TestSessions = Awaited<ReturnType<typeof openTestSessions>>;

// The session services on a real store and real daemons (the process driver), with a clock that the test moves.
export async function openTestSessions(
  options: Partial<Omit<SessionServicesDeps, "capacity">> & {
    capacity?: Partial<SessionServicesDeps["capacity"]>;
    wrapDriver?: (driver: Driver) => Driver;
    wrapLinks?: (links: DaemonLinks) => DaemonLinks;
    databaseUrl?: string | null;
  } = {},
) {
  const dataDir = await mkdtemp(join(tmpdir(), "berth-sessions-"));
  const clock = createTestClock(Date.now());
  const log = silentLog;
  const store = await openMigratedStore({ file: join(dataDir, "berth.db"), url: options.databaseUrl ?? null, log });
  const processes = createProcessDriver({ dataDir, runtimeDir: join(import.meta.dirname, "../../../daemon/dist"), log });
  const driver = options.wrapDriver?.(processes) ?? processes;
  const secrets = createSecrets([randomBytes(32)]);
  const tokenOf = async (sandboxId: string) => {
    const access = await readSandboxAccess(store, sandboxId);
    if (!access) throw new Error(`there is no sandbox ${sandboxId}`);
    return secrets.open(access.sealedToken, sandboxId);
  };
  const realLinks = createDaemonLinks({ driver, tokenOf, log: silentLog });
  const links = withNews(options.wrapLinks?.(realLinks) ?? realLinks);
  const deps: SessionServicesDeps = {
    store,
    driver,
    links,
    egress: { open: async () => {}, change: async () => {}, close: async () => {} },
    meter: { measureLast: async () => {} },
    templates: loadTemplates(undefined),
    modelEnv: () => ({}),
    relayAccess: () => ({ env: {}, gitConfig: [], urlOf: () => "" }),
    secrets,
    clock,
    log,
    host: "test",
    servers: { elsewhere: async () => new AppError("session_elsewhere") },
    rules: {
      timeoutAction: "pause",
      hibernateAfterMs: 10 * MINUTE,
      pausedMs: 30 * 24 * 60 * MINUTE,
      tombstoneMs: 30 * 24 * 60 * MINUTE,
      quarantineMs: 30 * 24 * 60 * MINUTE,
    },
    snapshotLimits: { maxSnapshots: 100, maxSnapshotBytes: 2 ** 40, snapshotRetentionMs: null },
    poolSize: 0,
    stepTimeoutMs: 20_000,
    ...options,
    // The machine that runs the tests may be busy, so its load does not count.
    capacity: { maxSandboxes: 100, reserveBytes: 0, loadPerCore: () => 0, idleProcessors: () => Infinity, ...options.capacity },
  };
  const services = createSessionServices(deps);
  await createPartner(store.db, clock, "acme");
  return {
    ...services,
    deps,
    store,
    driver,
    links,
    clock,
    acme: { id: "acme", maxSessions: null, maxSessionsPerUser: null, idleTimeoutMs: null },
    // Another server over the same data, as after a crash of the first one.
    another: (changed: Partial<SessionServicesDeps> = {}) => createSessionServices({ ...deps, ...changed }),
    // The first server stops, and its sandboxes keep running.
    stop: () => services[Symbol.asyncDispose](),
    async [Symbol.asyncDispose]() {
      await services[Symbol.asyncDispose]();
      await links[Symbol.asyncDispose]();
      for (const { id } of await processes.list(AbortSignal.timeout(60_000))) await processes.destroy(id, AbortSignal.timeout(60_000));
      await processes[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export const aRequest = (changes: Partial<CreateRequest> = {}): CreateRequest => ({
  externalUserId: "user-1",
  envVars: {},
  template: "default",
  timeoutMs: 60 * MINUTE,
  autoStartAgent: false,
  metadata: {},
  ...changes,
});
