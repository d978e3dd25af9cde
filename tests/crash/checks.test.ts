import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLog } from "../../server/log.ts";
import { openStore, type Store } from "../../server/store/open.ts";
import type { Api } from "../support/servers/api.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { judge } from "./check.ts";
import { findRunFaults } from "./check-runs.ts";
import { checkUsage } from "./check-usage.ts";
import { createKeyRing } from "./key-ring.ts";
import { createLedger, type Entry } from "./ledger.ts";

// A check that cannot fail proves nothing, so each test damages the state behind the server's back and expects a violation.
let berth: Berth;
let store: Store;
beforeAll(async () => {
  berth = await startBerth({ BERTH_DRIVER: "process", BERTH_POOL_SIZE: "1", BERTH_LOG_LEVEL: "error" });
  store = await openStore({ file: join(berth.dataDir, "berth.db"), log: silentLog, migrate: false });
});
afterAll(async () => {
  await store?.[Symbol.asyncDispose]();
  await berth?.[Symbol.asyncDispose]();
});

// The first choice is always a create.
const firstChoice = () => 0;

// Acts like a server that dies after its work and before its response.
const losingAnswers = (api: Api): Api => ({
  ...api,
  async call(...args) {
    await api.call(...args);
    throw new TypeError("fetch failed");
  },
});

test("a lost key and a revoked key that works again are violations", async () => {
  const ring = createKeyRing();
  for (let turn = 0; turn < 4; turn++) await ring.turn(berth);
  expect(await ring.check(berth)).toEqual([]);
  const [newest] = await store.db.selectFrom("keys").select("id").orderBy("created_at", "desc").orderBy("id", "desc").limit(1).execute();
  await store.db.deleteFrom("keys").where("id", "=", newest!.id).execute();
  const revoked = await store.db
    .updateTable("keys")
    .set({ revoked_at: null })
    .where("revoked_at", "is not", null)
    .returning("id")
    .execute();
  // The server caches keys for some milliseconds.
  await expect.poll(() => ring.check(berth)).toEqual([`the key ${newest!.id} is lost`, `the key ${revoked[0]!.id} works again`]);
});

test("a retry that makes a second session is a violation", async () => {
  const ledger = createLedger(firstChoice);
  const api = losingAnswers(berth.api);
  await expect(ledger.act(api)).rejects.toThrow("fetch failed");
  expect(await ledger.retry(berth.api)).toEqual([]);
  expect(ledger.entries()).toHaveLength(1);

  await expect(ledger.act(api)).rejects.toThrow("fetch failed");
  await store.db.deleteFrom("idempotency").execute();
  expect(await ledger.retry(berth.api)).toEqual([expect.stringMatching(/answered 201, and there are 2 sessions of it$/)]);
});

test("time that is counted twice is a violation", async () => {
  const { sessionId } = await berth.api.create();
  await berth.api.call("POST", `/api/b2b/sessions/${sessionId}/pause`);
  expect(await checkUsage(store)).toEqual([]);
  await store.db.updateTable("usage_days").set({ running_ms: 1 }).where("session_id", "=", sessionId).execute();
  expect(await checkUsage(store)).toEqual([expect.stringMatching(`^${sessionId}: the events say`)]);
  // The next test expects no violation.
  await store.db.deleteFrom("events").where("session_id", "=", sessionId).execute();
});

test("a run that is lost, or whose end is not reported, is a violation", async () => {
  const ledger = createLedger(firstChoice);
  await ledger.useRun(berth.api);
  const [{ runs, sessionId }] = ledger.entries() as [Entry];
  await expect.poll(() => findRunFaults(store, ledger.entries())).toEqual([]);
  await store.db.deleteFrom("events").where("session_id", "=", sessionId).where("type", "=", "run.finished").execute();
  expect(await findRunFaults(store, ledger.entries())).toEqual([
    `${sessionId}: the run ${runs[0]!} is failed, and its end was reported 0 times`,
  ]);
  await store.db.deleteFrom("runs").execute();
  expect(await findRunFaults(store, ledger.entries())).toEqual([`the run ${runs[0]!} is lost`]);
});

test("a pool above its limit is a violation", async () => {
  const [ledger, keys] = [createLedger(firstChoice), createKeyRing()];
  expect((await judge(berth, ledger, keys)).violations).toEqual([]);
  const believed = { ...berth, env: { ...berth.env, BERTH_POOL_SIZE: "0" } };
  expect((await judge(believed, ledger, keys)).violations).toEqual(["the pool had 1 sandboxes and may have 0"]);
});
