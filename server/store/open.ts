import { Kysely, PostgresDialect, SqliteDialect, sql } from "kysely";
import type { Log } from "../log.ts";
import { migrate } from "./migrate.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import type { Db, Tables } from "./schema.ts";

export type Engine = "sqlite" | "postgres";

export interface Store extends AsyncDisposable {
  readonly db: Db;
  readonly engine: Engine;
  // Runs `work` in one transaction: all of it or, when it throws, nothing. On SQLite there is one connection, so inside
  // `work` only the transaction may be used: `store.db` would wait for the transaction to end, and it for `store.db`.
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>;
  // Resolves when the database answers, throws `store_unavailable` when it does not.
  ready(): Promise<void>;
}

export interface StoreOptions {
  // A postgres:// address; otherwise `file`, the path of an SQLite database (made when absent).
  url?: string | null;
  file: string;
  log: Log;
  // Bring the schema up to date (the default). Only looking, as `berth doctor` does, leaves it as it is.
  migrate?: boolean;
}

// A database that does not answer gives AppError `store_unavailable` from every call; once it answers again, so does the
// store, without a restart.
export async function openStore({ url, file, log, migrate: migrating = true }: StoreOptions): Promise<Store> {
  const engine: Engine = url ? "postgres" : "sqlite";
  const dialect = url ? new PostgresDialect({ pool: openPostgres(url, log) }) : new SqliteDialect({ database: await openSqlite(file) });
  const db = new Kysely<Tables>({ dialect });
  const store: Store = {
    db,
    engine,
    transaction: (work) => db.transaction().execute(work),
    async ready() {
      await sql`select 1`.execute(db);
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  };
  try {
    await store.ready();
    if (migrating) await migrate(store, log);
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
  return store;
}
