import { sql, type Kysely } from "kysely";
import type { Log } from "../../log.ts";
import { MIGRATIONS } from "./index.ts";
import type { Engine } from "../engines/engine.ts";
import type { Db } from "../schema.ts";

// An arbitrary number. Servers that start at once on one PostgreSQL wait for each other on this lock.
const ADVISORY_LOCK = 0x62657274;

// The part of the store that migrations use.
export interface MigratedStore {
  readonly db: Db;
  readonly engine: Engine;
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>;
}

// The database belongs to a newer version of Berth.
export class SchemaError extends Error {
  constructor(found: number, known: number) {
    super(
      `The database has schema ${found}, but this version of Berth knows only ${known}: a newer version migrated it. Start that version, or restore a backup from before the migration.`,
    );
    this.name = "SchemaError";
  }
}

// Runs the missing migrations in order, in one transaction and under a lock, so that one of several servers does the work.
// A failure rolls everything back.
export async function migrate(store: MigratedStore, log: Log, migrations = MIGRATIONS): Promise<void> {
  const known = migrations.length;
  if ((await schemaVersion(store)) === known) return;
  await store.transaction(async (tx) => {
    if (store.engine === "postgres") await sql`select pg_advisory_xact_lock(${sql.lit(ADVISORY_LOCK)})`.execute(tx);
    await sql`create table if not exists migrations (number integer primary key, name text not null, applied_at bigint not null)`.execute(
      tx,
    );
    const found = await latest(tx);
    if (found > known) throw new SchemaError(found, known);
    for (const [index, migration] of migrations.entries()) {
      const number = index + 1;
      if (number <= found) continue;
      await migration.up(tx as Kysely<unknown>, store.engine);
      await sql`insert into migrations (number, name, applied_at) values (${number}, ${migration.name}, ${Date.now()})`.execute(tx);
      log.info("store.migrated", { number, name: migration.name });
    }
  });
}

// The number of the last migration; 0 for an empty database.
export async function schemaVersion(store: MigratedStore): Promise<number> {
  const exists =
    store.engine === "sqlite"
      ? sql<{ found: number }>`select count(*) as found from sqlite_master where type = 'table' and name = 'migrations'`
      : sql<{ found: number }>`select count(*) as found from pg_tables where schemaname = current_schema() and tablename = 'migrations'`;
  const { rows } = await exists.execute(store.db);
  return rows[0]?.found === 0 ? 0 : latest(store.db);
}

async function latest(db: Db): Promise<number> {
  const { rows } = await sql<{ number: number | null }>`select max(number) as number from migrations`.execute(db);
  return rows[0]?.number ?? 0;
}
