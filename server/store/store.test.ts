import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { isAppError } from "@berth/contract";
import { onBothEngines, type Databases } from "../../tests/support/databases/stores.ts";
import { insertPartner, storeSuite } from "./store.suite.ts";

onBothEngines(
  "the store",
  (databases) => {
    storeSuite(databases);

    test("while the database is unavailable, calls fail with store_unavailable, and the store recovers with it", async () => {
      const database = await databases.create();
      await using store = await database.open({ lockTimeoutMs: 100 });
      await insertPartner(store, "acme");
      const restore = databases.postgres ? await stopPostgres(databases.postgres) : lockSqlite(database.file);
      const failures = await Promise.all([
        failureOf(() => insertPartner(store, "second")),
        failureOf(() => store.transaction((tx) => insertPartner({ db: tx }, "third"))),
      ]);
      expect(failures.map((failure) => isAppError(failure, "store_unavailable"))).toEqual([true, true]);
      await restore();
      await insertPartner(store, "fourth");
      const rows = await store.db.selectFrom("partners").select("id").orderBy("id").execute();
      expect(rows.map((row) => row.id)).toEqual(["acme", "fourth"]);
    });
  },
  { sqlite: testSqlite, postgres: testPostgres },
);

function testPostgres(databases: Databases): void {
  test("a connection that breaks in a transaction rolls it back and is not used again", async () => {
    const database = await databases.create();
    await using store = await database.open();
    await using other = await database.open();
    const cut = store.transaction(async (tx) => {
      await insertPartner({ db: tx }, "acme");
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
      await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(other.db);
      await insertPartner({ db: tx }, "second");
    });
    expect(isAppError(await failureOf(() => cut), "store_unavailable")).toBe(true);
    expect(await store.db.selectFrom("partners").selectAll().execute()).toEqual([]);
  });
}

function testSqlite(databases: Databases): void {
  test("SQLite keeps a log, enforces foreign keys, and only its owner can read the file", async () => {
    const database = await databases.create();
    await using store = await database.open();
    const pragma = async (name: string) =>
      Object.values((await sql`pragma ${sql.raw(name)}`.execute(store.db)).rows[0] as object)[0] as unknown;
    expect([await pragma("journal_mode"), await pragma("foreign_keys")]).toEqual(["wal", 1]);
    expect(statSync(database.file).mode & 0o777).toBe(0o600);
  });

  test("while another process holds the SQLite lock, statements wait without blocking the event loop", async () => {
    const database = await databases.create();
    await using store = await database.open();
    const unlock = lockSqlite(database.file);
    let written = 0;
    const write = [insertPartner(store, "acme"), store.transaction((tx) => insertPartner({ db: tx }, "second"))];
    const waiting = Promise.all(write.map((one) => one.then(() => written++)));
    // Reads work while the write waits.
    const anyPartner = store.db.selectFrom("partners").select("id").where("id", "=", "").compile();
    for (let turn = 0; turn < 50; turn++) {
      expect(await store.first(anyPartner, "acme", ({ id }) => id)).toBeUndefined();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(written).toBe(0);
    await unlock();
    await waiting;
    const rows = await store.db.selectFrom("partners").select("id").orderBy("id").execute();
    expect(rows.map((row) => row.id)).toEqual(["acme", "second"]);
  });

  test("if a lock lasts too long, all waiting statements fail at once, not one after the other", async () => {
    const database = await databases.create();
    await using store = await database.open({ lockTimeoutMs: 1000 });
    const unlock = lockSqlite(database.file);
    const startMs = performance.now();
    const failures = await Promise.all(Array.from({ length: 20 }, (_, index) => failureOf(() => insertPartner(store, `p${index}`))));
    expect(performance.now() - startMs).toBeLessThan(10_000);
    expect(failures.every((failure) => isAppError(failure, "store_unavailable"))).toBe(true);
    await unlock();
    await insertPartner(store, "acme");
  });
}

test("a database that cannot be opened fails with store_unavailable", async () => {
  const { openStore } = await import("./open.ts");
  const { silentLog } = await import("../log.ts");
  const file = `${import.meta.filename}/berth.db`;
  expect(isAppError(await failureOf(() => openStore({ file, log: silentLog })), "store_unavailable")).toBe(true);
  const url = "postgres://berth@127.0.0.1:9/berth";
  expect(isAppError(await failureOf(() => openStore({ url, file, log: silentLog })), "store_unavailable")).toBe(true);
});

const failureOf = (work: () => Promise<unknown>): Promise<unknown> =>
  work().then(
    () => "no failure",
    (error: unknown) => error,
  );

async function stopPostgres(postgres: { stop(): Promise<void>; start(): Promise<void> }): Promise<() => Promise<void>> {
  await postgres.stop();
  return () => postgres.start();
}

function lockSqlite(file: string): () => Promise<void> {
  const other = new DatabaseSync(file);
  other.exec("begin immediate");
  return async () => {
    other.exec("rollback");
    other.close();
  };
}
