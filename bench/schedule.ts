// `node bench/schedule.ts [rows]` compares one tick of the scheduler and one GET with 100,000 rows and with an empty table, on real
// SQLite. Nothing is due, as at nearly every tick.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DAY, MINUTE, systemClock } from "../server/clock.ts";
import { createPartner } from "../server/keys/partners.ts";
import { silentLog } from "../server/log.ts";
import { createCapacity } from "../server/sessions/pool/capacity.ts";
import { createSchedule } from "../server/sessions/background/schedule.ts";
import type { Steps } from "../server/sessions/steps.ts";
import type { Transitions } from "../server/sessions/transitions.ts";
import { openStore, type Store } from "../server/store/open.ts";
import { findSession } from "../server/store/sessions/read.ts";
import { sessionRow } from "../server/store/testing/session-row.ts";
import { median } from "./median.ts";

const rows = Number(process.argv[2] ?? 100_000);
const home = { driver: "oci", host: "here" };
const folder = await mkdtemp(join(tmpdir(), "berth-bench-"));
const store = await openStore({ file: join(folder, "berth.db"), log: silentLog });
const nothingIsDue = new Proxy({} as Steps & Transitions, { get: () => () => Promise.reject(new Error("nothing should be due")) });
const schedule = createSchedule({
  store,
  steps: nothingIsDue,
  capacity: createCapacity(home, store.engine, { maxSandboxes: Infinity, reserveBytes: 0 }),
  home,
  clock: systemClock,
  log: silentLog,
  transitions: nothingIsDue,
  rules: { timeoutAction: "pause", hibernateAfterMs: 10 * MINUTE, pausedMs: 30 * DAY, tombstoneMs: 30 * DAY },
});
await createPartner(store.db, systemClock, "acme");

const first = await insert(store, 1);
const empty = await measure(first);
await insert(store, rows);
const full = await measure(first);
console.log(`tick: ${empty.tickMs.toFixed(3)} ms with none, ${full.tickMs.toFixed(3)} ms with ${rows} rows`);
console.log(`get:  ${empty.getMs.toFixed(3)} ms with none, ${full.getMs.toFixed(3)} ms with ${rows} rows`);
await store[Symbol.asyncDispose]();
await rm(folder, { recursive: true });

async function measure(id: string) {
  return { tickMs: await median(50, schedule.tick), getMs: await median(200, async () => void (await findSession(store.db, id))) };
}

// Nine of ten sessions are destroyed, the others running or paused, as after a busy year.
async function insert({ transaction }: Store, count: number): Promise<string> {
  const nowMs = Date.now();
  let id = "";
  for (let done = 0; done < count; done += 1000)
    await transaction(async (tx) => {
      for (let i = done; i < Math.min(done + 1000, count); i++) {
        const state = i % 10 ? "destroyed" : i % 20 ? "paused" : "running";
        const row = sessionRow(nowMs - i, {
          external_user_id: `user-${i % 500}`,
          state,
          generation: 3,
          ...home,
          timeout_ms: 60 * MINUTE,
          expires_at: state === "running" ? nowMs + 30 * MINUTE : null,
          paused_at: state === "paused" ? nowMs - DAY : null,
          hibernated: state === "paused" ? 1 : 0,
          destroyed_at: state === "destroyed" ? nowMs - DAY : null,
        });
        await tx.insertInto("sessions").values(row).execute();
        id = row.id;
      }
    });
  return id;
}
