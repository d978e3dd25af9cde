import { readFile } from "node:fs/promises";
import type { SandboxId } from "@berth/contract";
import type { Config } from "@berth/server/config/config.ts";
import type { Driver } from "@berth/server/drivers/driver.ts";
import { openDriver, probeDrivers } from "@berth/server/drivers/index.ts";
import { hostNameFile } from "@berth/server/data-folder/claim-host.ts";
import { silentLog } from "@berth/server/log.ts";
import type { Store } from "@berth/server/store/open.ts";
import { driversInUse, isSandboxOwned, sessionsInState } from "@berth/server/store/sessions/read.ts";
import { SESSION_STATES, statusOf, type Site } from "@berth/server/store/sessions/session.ts";
import { findStore } from "../installation/existing-store.ts";

// The sandboxes of this installation, by driver.
export interface Installation extends AsyncDisposable {
  // null if there is none, or if it is unreadable and will be deleted anyway.
  store: Store | null;
  engines: Engine[];
}

export interface Engine {
  driver: Driver;
  site: Site;
  counts: Counts;
}

export interface Counts {
  running: number;
  // Paused, in memory.
  frozen: number;
  // Paused, on disk only.
  hibernated: number;
  // Sandboxes of the pool, and of creates that were not acknowledged.
  blank: number;
  // Sandboxes on the engine that the store does not know.
  unknown: number;
}

const LIST_TIMEOUT_MS = 30_000;

// Read-only. If `tolerant`, an unreadable store counts as none.
export async function openInstallation(config: Config, { tolerant }: { tolerant: boolean }): Promise<Installation> {
  await using opening = new AsyncDisposableStack();
  const store = await findStore(config).catch((error: unknown) => {
    if (tolerant && !config.databaseUrl) return null;
    throw error;
  });
  if (store) opening.use(store);
  const host = (await readFile(hostNameFile(config.dataDir), "utf8").catch(() => "")).trim();
  const engines: Engine[] = [];
  for (const name of await driversOf(config, store, host)) {
    // The address of the server does not matter for stopping its sandboxes.
    const driver = opening.use(await openDriver({ ...config, driver: name, allowUnisolated: true }, silentLog));
    const site = { driver: driver.name, host: driver.traits.hostBound ? host : null };
    engines.push({ driver, site, counts: await count(store, driver, site) });
  }
  const opened = opening.move();
  return { store, engines, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

// The configured driver, and those that earlier settings created sessions with.
async function driversOf(config: Config, store: Store | null, host: string): Promise<string[]> {
  const configured = config.driver === "auto" ? await firstUsable(config) : config.driver;
  const used = store ? await driversInUse(store.db, host) : [];
  return [...new Set([...(configured === undefined ? [] : [configured]), ...used])];
}

const firstUsable = async (config: Config): Promise<string | undefined> =>
  (await probeDrivers({ ...config, allowUnisolated: true })).find(({ usable }) => usable)?.driver;

async function count(store: Store | null, driver: Driver, site: Site): Promise<Counts> {
  const counts: Counts = { running: 0, frozen: 0, hibernated: 0, blank: 0, unknown: 0 };
  const living = SESSION_STATES.filter((state) => state !== "destroyed");
  const sessions = store ? await sessionsInState(store.db, site, living) : [];
  for (const session of sessions) {
    const status = statusOf(session);
    if (status === null) counts.blank++;
    else if (status === "running") counts.running++;
    else if (session.state === "paused" && session.isHibernated) counts.hibernated++;
    else counts.frozen++;
  }
  const known = new Set(sessions.map(({ sandboxId }) => sandboxId));
  const unlisted = (await driver.list(AbortSignal.timeout(LIST_TIMEOUT_MS))).filter(({ id }) => !known.has(id));
  for (const { id, condition } of unlisted) {
    if (await belongsElsewhere(store, id)) continue;
    // Without a store, a stopped sandbox may be the files of a session.
    if (!store && condition === "stopped") counts.hibernated++;
    else counts.unknown++;
  }
  return counts;
}

// Whether it belongs to a session of another driver that uses the same folder.
async function belongsElsewhere(store: Store | null, id: SandboxId): Promise<boolean> {
  return store !== null && (await isSandboxOwned(store.db, id));
}
