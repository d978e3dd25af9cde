import { AsyncLocalStorage } from "node:async_hooks";
import { Kysely, PostgresDialect, sql, type CompiledQuery } from "kysely";
import type { Log } from "../log.ts";
import { migrate, schemaVersion } from "./migrations/migrate.ts";
import { MIGRATIONS } from "./migrations/index.ts";
import { queryWorkPlugin } from "./engines/query-work.ts";
import { sqliteDialect } from "./engines/sqlite-dialect.ts";
import { openSqlite } from "./engines/sqlite.ts";
import type { Db, Tables } from "./schema.ts";

export type Engine = "sqlite" | "postgres";

export interface Store extends AsyncDisposable {
  readonly db: Db;
  readonly engine: Engine;
  // Runs `work` in one transaction: all of it or, when it throws, nothing. Inside `work` only the transaction may be used:
  // SQLite has one connection, and `store.db` would wait for it while holding it. Whoever tries gets an error on both.
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>;
  // The first row of a query that was put together beforehand: the short way, for what is asked with every request. It sees
  // what is committed and waits for no transaction of this server.
  first<Row>(query: CompiledQuery<Row>): Promise<Row | undefined>;
  // Resolves when the database answers, throws `store_unavailable` when it does not.
  ready(): Promise<void>;
  // A number that differs from the last when another process has written meanwhile: what was read before may be old. It is
  // cheap enough to ask for every time. PostgreSQL cannot tell and always gives the same.
  foreignChanges(): number;
}

export interface StoreOptions {
  // A postgres:// address; otherwise `file`, the path of an SQLite database (made when absent).
  url?: string | null;
  file: string;
  log: Log;
  // SQLite: how long a statement waits for another process's write. Nothing else waits with it.
  lockTimeoutMs?: number;
  // Bring the schema up to date (the default). Only looking, as `berth doctor` does, leaves it as it is.
  migrate?: boolean;
}

// A database that does not answer gives AppError `store_unavailable` from every call; once it answers again, so does the
// store, without a restart.
export async function openStore(options: StoreOptions): Promise<Store> {
  const store = await connect(options);
  try {
    await store.ready();
    if (options.migrate ?? true) await bringUpToDate(store, options);
    return store;
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
}

async function bringUpToDate(store: Store, options: StoreOptions): Promise<void> {
  if ((await schemaVersion(store)) === MIGRATIONS.length) return;
  // Migrating a large database, or waiting for another server to do it, may take longer than any statement afterwards.
  await using patient = await connect({ ...options, patient: true });
  await migrate(patient, options.log);
}

async function connect(options: StoreOptions & { patient?: boolean }): Promise<Store> {
  const { dialect, foreignChanges, read } = options.url ? await postgres(options.url, options) : await sqlite(options);
  const db = new Kysely<Tables>({ dialect, plugins: [queryWorkPlugin] });
  const current = new AsyncLocalStorage<{ open: boolean }>();
  return {
    get db() {
      if (current.getStore()?.open) throw new Error("store.db was used inside a transaction; use the transaction");
      return db;
    },
    engine: options.url ? "postgres" : "sqlite",
    transaction<T>(work: (tx: Db) => Promise<T>) {
      if (current.getStore()?.open) throw new Error("a transaction was begun inside a transaction; pass the outer one on");
      const state = { open: true };
      const run = () => db.transaction().execute(work);
      return current.run(state, run).finally(() => (state.open = false));
    },
    async first<Row>(query: CompiledQuery<Row>) {
      if (read) return read(query.sql, query.parameters) as Row | undefined;
      return (await db.executeQuery(query)).rows[0];
    },
    async ready() {
      await sql`select 1`.execute(db);
    },
    foreignChanges,
    [Symbol.asyncDispose]: () => db.destroy(),
  };
}

async function postgres(url: string, options: { log: Log; patient?: boolean }) {
  const { openPostgres } = await import("./engines/postgres.ts");
  return { dialect: new PostgresDialect({ pool: openPostgres(url, options) }), foreignChanges: () => 0, read: null };
}

async function sqlite({ file, lockTimeoutMs = 5000 }: StoreOptions) {
  const { database, foreignChanges, read } = await openSqlite(file);
  return { dialect: sqliteDialect(database, lockTimeoutMs), foreignChanges, read };
}
