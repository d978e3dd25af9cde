import { AsyncLocalStorage } from "node:async_hooks";
import { Kysely, PostgresDialect, sql, type CompiledQuery } from "kysely";
import type { Log } from "../log.ts";
import { migrate, schemaVersion } from "./migrations/migrate.ts";
import { MIGRATIONS } from "./migrations/index.ts";
import type { Engine } from "./engines/engine.ts";
import { queryWorkPlugin } from "./engines/query-work.ts";
import { sqliteDialect, waitForSync } from "./engines/sqlite-dialect.ts";
import { openSqlite } from "./engines/sqlite.ts";
import type { Db, Tables } from "./schema.ts";

export type { Engine } from "./engines/engine.ts";

export interface Store extends AsyncDisposable {
  // A write resolves when it is on disk.
  readonly db: Db;
  // The same database. A write resolves before it is on disk, as with `sync: "later"`.
  readonly laterDb: Db;
  readonly engine: Engine;
  // Runs `work` in one transaction, which is rolled back if it throws. `work` must use only the transaction: SQLite has one
  // connection, so `store.db` would deadlock. Both engines throw instead.
  // Resolves when the commit is on disk, or at once with `sync: "later"`.
  transaction<T>(work: (tx: Db) => Promise<T>, options?: { sync: Sync }): Promise<T>;
  // Resolves when all commits so far are on disk.
  sync(): Promise<void>;
  // The first row of a prepared query with one parameter, for rows that every request reads. It sees committed data and does not wait for
  // this server's transactions. The result may be shared with other callers, so none of them may change it. On SQLite a write of
  // another process is seen after some milliseconds, on PostgreSQL at once. Returns a promise only if the database has to be asked over the
  // network.
  first<Row, Result>(
    query: CompiledQuery<Row>,
    parameter: string,
    parse: (row: Row) => Result,
  ): Result | undefined | Promise<Result | undefined>;
  // Resolves if the database answers; otherwise throws `store_unavailable`.
  ready(): Promise<void>;
  // A number that changes whenever another process writes, so that callers know when a cache is stale. Cheap. PostgreSQL
  // cannot tell and always returns the same number.
  foreignChanges(): number;
}

// When a commit has to survive a power cut: `now`, or `later`, together with the next commit that waits for a sync. Use `later` for
// changes that no caller knows of yet and that a power cut would undo anyway. They survive the end of this process at once.
// PostgreSQL syncs every commit.
export type Sync = "now" | "later";

export interface StoreOptions {
  // A postgres:// URL. Without it, `file` is the path of an SQLite database, which is created if it does not exist.
  url?: string | null;
  file: string;
  log: Log;
  // SQLite: how long a statement waits for another process's write, without blocking anything else.
  lockTimeoutMs?: number;
  // Migrate the schema (the default). `berth doctor` only reads and does not.
  migrate?: boolean;
}

// While the database does not answer, every call throws AppError `store_unavailable`. The store recovers without a restart.
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
  // Migrating a large database, or waiting for another server to do so, may take longer than the statement timeout.
  await using unlimited = await connect({ ...options, allowLongStatements: true });
  await migrate(unlimited, options.log);
}

async function connect(options: StoreOptions & { allowLongStatements?: boolean }): Promise<Store> {
  const { dialect, plugins, foreignChanges, read, sync, end } = options.url ? await postgres(options.url, options) : await sqlite(options);
  const db = new Kysely<Tables>({ dialect, plugins: [...plugins, queryWorkPlugin] });
  const laterDb = db.withoutPlugins().withPlugin(queryWorkPlugin);
  const current = new AsyncLocalStorage<{ open: boolean }>();
  const outsideTransaction = (outer: Db): Db => {
    if (current.getStore()?.open) throw new Error("store.db was used inside a transaction; use the transaction instead");
    return outer;
  };
  return {
    get db() {
      return outsideTransaction(db);
    },
    get laterDb() {
      return outsideTransaction(laterDb);
    },
    engine: options.url ? "postgres" : "sqlite",
    transaction<T>(work: (tx: Db) => Promise<T>, options = { sync: "now" }) {
      if (current.getStore()?.open) throw new Error("a transaction was started inside a transaction; pass the outer one instead");
      const state = { open: true };
      const run = () => db.transaction().execute(work);
      const committed = current.run(state, run).finally(() => (state.open = false));
      return options.sync === "later" ? committed : afterSync(committed);
    },
    sync,
    first: (query, parameter, parse) => read(query.sql, parameter, parse as (row: unknown) => ReturnType<typeof parse>),
    async ready() {
      await sql`select 1`.execute(db);
    },
    foreignChanges,
    async [Symbol.asyncDispose]() {
      await sync().catch(() => {});
      await end();
      await db.destroy();
    },
  };

  async function afterSync<T>(committed: Promise<T>): Promise<T> {
    const result = await committed;
    await sync();
    return result;
  }
}

async function postgres(url: string, options: { log: Log; allowLongStatements?: boolean }) {
  const { openPostgres } = await import("./engines/postgres.ts");
  const { createPostgresReader } = await import("./engines/postgres-reader.ts");
  const pool = openPostgres(url, options);
  const { read } = createPostgresReader(async (text, values) => {
    const client = await pool.connect();
    try {
      return (await client.query<Record<string, unknown>>(text, values)).rows;
    } finally {
      client.release();
    }
  });
  return { dialect: new PostgresDialect({ pool }), plugins: [], foreignChanges: () => 0, read, sync: async () => {}, end: async () => {} };
}

async function sqlite({ file, lockTimeoutMs = 5000 }: StoreOptions) {
  const opened = await openSqlite(file);
  return { ...opened, dialect: sqliteDialect(opened, lockTimeoutMs), plugins: [waitForSync(opened.sync)] };
}
