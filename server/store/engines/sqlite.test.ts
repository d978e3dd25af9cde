import fs from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { isAppError } from "@berth/contract";
import { silentLog } from "../../log.ts";
import { openStore, type Store } from "../open.ts";
import type { Db } from "../schema.ts";
import { insertPartner } from "../store.suite.ts";
import { prepare } from "./prepared.ts";
import { findDueEndpoints } from "../webhooks/lanes.ts";

type Done = (error: Error | null) => void;
const disk = { isHeld: false, waiting: [] as Done[] };
// Not vi.mock: another file of this worker may have loaded the modules of the store already.
const { fdatasync } = fs;
const spy = vi
  .spyOn(fs, "fdatasync")
  .mockImplementation((descriptor, done) => void (disk.isHeld ? disk.waiting.push(done) : fdatasync(descriptor, done)));

let folder: string;
let store: Store;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-sqlite-"));
  store = await openStore({ file: join(folder, "berth.db"), log: silentLog });
});
afterAll(async () => {
  spy.mockRestore();
  await store[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

test("a write resolves when it is on disk, unless it may sync later, and holds up no other query", async () => {
  disk.isHeld = true;
  const resolved: string[] = [];
  const statement = insertPartner(store, "statement").then(() => resolved.push("statement"));
  const transaction = store.transaction((tx) => insertPartner({ db: tx }, "transaction")).then(() => resolved.push("transaction"));
  await store.transaction((tx) => insertPartner({ db: tx }, "later"), { sync: "later" });
  await insertPartner({ db: store.laterDb }, "later statement");
  const rows = await store.db.selectFrom("partners").select("id").orderBy("id").execute();
  expect(rows.map(({ id }) => id)).toEqual(["later", "later statement", "statement", "transaction"]);
  expect(resolved).toEqual([]);
  release(null);
  await Promise.all([statement, transaction]);
});

test("a write that could not be synced fails with store_unavailable, and the next one succeeds", async () => {
  disk.isHeld = true;
  const failing = store.transaction((tx) => insertPartner({ db: tx }, "failing")).catch((error: unknown) => error);
  await expect.poll(() => disk.waiting.length).toBe(1);
  release(Object.assign(new Error("EIO"), { syscall: "fdatasync" }));
  expect(isAppError(await failing, "store_unavailable")).toBe(true);
  await insertPartner(store, "next");
});

test("a query that begins with common table expressions waits for no disk, unless it writes", async () => {
  const names = (tx: Db) => tx.with("named", (with_) => with_.selectFrom("partners").select("name"));
  await store.sync();
  spy.mockClear();
  await findDueEndpoints(store.db, { nowMs: 0 });
  await names(store.db).selectFrom("named").selectAll().execute();
  expect(spy).not.toHaveBeenCalled();
  await names(store.db).deleteFrom("events").execute();
  expect(spy).toHaveBeenCalledOnce();
});

test("a limit is part of the text, because SQLite would plan a query with a bound one again at every run", async () => {
  const names = store.db.selectFrom("partners").select("id").orderBy("id");
  const { sql, parameters } = names.limit(2).offset(1).compile();
  expect(sql).toMatch(/ limit 2 offset \?$/);
  expect(parameters).toEqual([1]);
  const ids = (await names.execute()).map(({ id }) => id);
  expect((await names.limit(2).offset(1).execute()).map(({ id }) => id)).toEqual(ids.slice(1, 3));
  const page = prepare((db, { size }: { size: number }) => db.selectFrom("partners").select("id").orderBy("id").limit(size));
  for (const size of [1, 3]) expect(await page(store.db, { size })).toHaveLength(size);
});

function release(error: Error | null): void {
  disk.isHeld = false;
  for (const done of disk.waiting.splice(0)) done(error);
}
