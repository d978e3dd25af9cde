import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../log.ts";
import { appendAudit } from "../partners/audit.ts";
import { openStore, type Store } from "../open.ts";
import { insertPartner } from "../store.suite.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-checkpoints-"));
  file = join(folder, "berth.db");
});
afterEach(() => rm(folder, { recursive: true }));

test("the log is copied into the database while the store writes, long before SQLite would", async () => {
  await using store = await openStore({ file, log: silentLog });
  const before = (await stat(file)).size;
  await expect
    .poll(() =>
      write(store, 100)
        .then(() => stat(file))
        .then(({ size }) => size),
    )
    .toBeGreaterThan(before);
  // SQLite copies it beyond 8000 pages.
  expect((await stat(`${file}-wal`)).size).toBeLessThan(8000 * 4096);
});

test("a checkpoint is no change of another process", async () => {
  await using store = await openStore({ file, log: silentLog });
  const before = [(await stat(file)).size, store.foreignChanges()];
  await expect
    .poll(() =>
      write(store, 100)
        .then(() => stat(file))
        .then(({ size }) => size),
    )
    .toBeGreaterThan(before[0]!);
  expect(store.foreignChanges()).toBe(before[1]);
});

test("a store that is closed during a checkpoint leaves one whole file", async () => {
  const store = await openStore({ file, log: silentLog });
  await insertPartner(store, "acme");
  await write(store, 500);
  await store[Symbol.asyncDispose]();
  await expect(stat(`${file}-wal`)).rejects.toMatchObject({ code: "ENOENT" });
  using database = new DatabaseSync(file);
  expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  expect(database.prepare("SELECT count(*) AS count FROM audit").get()).toEqual({ count: 500 });
});

test("a store whose file was removed can be closed", async () => {
  const store = await openStore({ file, log: silentLog });
  await rm(folder, { recursive: true });
  await write(store, 500);
  await store[Symbol.asyncDispose]();
  await mkdir(folder);
});

async function write(store: Store, count: number): Promise<void> {
  const entry = { partnerId: "acme", actor: "key", action: "session.create", ip: null, requestId: null };
  for (let i = 0; i < count; i++) await appendAudit(store.laterDb, { ...entry, target: `ses_${i}` }, i);
}
