import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { SandboxId } from "@berth/contract";
import { silentLog } from "../../server/log.ts";
import { openStore, type Store } from "../../server/store/open.ts";
import type { Berth } from "../support/servers/berth.ts";
import { findTraces } from "./traces.ts";

// The milliseconds from the moment when a sandbox loses its owner until nothing of it is left on the machine, but files without a row.
export interface OrphanTimes {
  // It has no row: it is stopped, and its files are kept.
  unknownMs: number;
  // Its row says that it is destroyed.
  destroyedMs: number;
  // It lost its owner while no server ran. Measured from the start of the next server's process.
  atStartMs: number;
}

const PATIENCE_MS = 60_000;

// Turns real sandboxes into orphans by changing rows behind the server's back.
export async function measureOrphans(berth: Berth): Promise<OrphanTimes> {
  const [unknown, destroyed, early] = [await makeSandbox(berth), await makeSandbox(berth), await makeSandbox(berth)];
  await using store = await openStore({ file: join(berth.dataDir, "berth.db"), url: null, log: silentLog, migrate: false });

  const [unknownMs, destroyedMs] = await Promise.all([
    untilStopped(berth, unknown, () => forget(store, unknown)),
    untilGone(berth, destroyed, () => bury(store, destroyed)),
  ]);
  await berth.stop();
  await bury(store, early);
  const atStartMs = await untilGone(berth, early, () => berth.start());
  return { unknownMs, destroyedMs, atStartMs };
}

async function makeSandbox({ api, dataDir }: Berth): Promise<SandboxId> {
  const { sandboxId } = await api.create({ autoStartAgent: false });
  if (findTraces(dataDir).every(({ id }) => id !== sandboxId)) throw new Error(`there is no trace of ${sandboxId}`);
  return sandboxId as SandboxId;
}

async function untilGone({ dataDir }: Berth, sandboxId: SandboxId, begin: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await begin();
  const folder = join(dataDir, "sandboxes", sandboxId);
  const isInTime = () => performance.now() - startMs < PATIENCE_MS;
  // Looking for all traces takes longer, because it reads every process of the machine.
  while (existsSync(folder) && isInTime()) await delay(20);
  const traces = () => findTraces(dataDir).filter(({ id }) => id === sandboxId);
  for (let left = traces(); left.length > 0; left = traces()) {
    if (!isInTime()) throw new Error(`left after a minute: ${left.map(({ what }) => what).join(", ")}`);
    await delay(50);
  }
  return performance.now() - startMs;
}

async function untilStopped({ dataDir }: Berth, sandboxId: SandboxId, begin: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await begin();
  const running = () => findTraces(dataDir).filter(({ id, what }) => id === sandboxId && !/^the (folder|user id)/.test(what));
  for (let left = running(); left.length > 0; left = running()) {
    if (performance.now() - startMs > PATIENCE_MS) throw new Error(`left after a minute: ${left.map(({ what }) => what).join(", ")}`);
    await delay(50);
  }
  if (!existsSync(join(dataDir, "sandboxes", sandboxId))) throw new Error(`the files of ${sandboxId} are gone`);
  return performance.now() - startMs;
}

const forget = (store: Store, id: SandboxId) => store.db.deleteFrom("sessions").where("sandbox_id", "=", id).execute();

const bury = (store: Store, id: SandboxId) =>
  store.db.updateTable("sessions").set({ state: "destroyed", destroyed_at: Date.now() }).where("sandbox_id", "=", id).execute();
