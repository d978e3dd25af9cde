import fs, { chmodSync, closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { SqliteDatabase, SqliteStatement } from "kysely";
import { sqliteFailure } from "./errors.ts";
import { createGroupSync, type GroupSync } from "./group-sync.ts";

const CACHED_STATEMENTS = 500;
// How long SQLite itself waits for a lock, blocking our thread; most locks are shorter. sqlite-dialect.ts handles longer ones.
const LOCK_MS = 20;
// Readers meet a lock only while the database is recovered, which takes a moment.
const READER_LOCK_MS = 200;

export interface Sqlite {
  // node:sqlite in the shape that Kysely's dialect expects.
  database: SqliteDatabase;
  isInTransaction: () => boolean;
  // SQLite itself does not sync a commit. Code that acknowledges a commit waits for this first. It does not block our thread.
  sync: GroupSync;
  // Changes whenever another process writes.
  foreignChanges: () => number;
  // The first row, read over a separate connection, so that it does not see an open transaction of the other one.
  read: (text: string, values: readonly unknown[]) => unknown;
}

export async function openSqlite(file: string): Promise<Sqlite> {
  const database = await open(file);
  const statements = new Map<string, SqliteStatement>();

  // Compiling a statement, or even counting its columns, costs more than running it, and the server uses a few hundred.
  function prepare(text: string): SqliteStatement {
    const known = statements.get(text);
    if (known) return known;
    if (statements.size >= CACHED_STATEMENTS) statements.clear();
    const statement = compile(database, text);
    statements.set(text, statement);
    return statement;
  }

  const dataVersion = database.prepare("PRAGMA data_version");
  const reader = createReader(file);
  const log = openLog(file);
  const close = () => {
    reader.close();
    log.close();
    database.close();
  };
  return {
    database: { close, prepare },
    isInTransaction: () => database.isTransaction,
    sync: log.sync,
    foreignChanges: () => Number(dataVersion.get()?.["data_version"]),
    read: reader.read,
  };
}

// SQLite's write-ahead log, to which commits append. It stays the same file for as long as a connection is open.
function openLog(file: string): { sync: GroupSync; close(): void } {
  const descriptor = guard(() => openSync(`${file}-wal`, "r"));
  const sync = () =>
    promisify(fs.fdatasync)(descriptor).catch((error: unknown) => {
      throw sqliteFailure(error);
    });
  return { sync: createGroupSync(sync), close: () => closeSync(descriptor) };
}

// Opened with the first query: there may be no tables before the migrations have run.
function createReader(file: string): { read: Sqlite["read"]; close(): void } {
  let database: DatabaseSync | undefined;
  const statements = new Map<string, StatementSync>();
  return {
    read: (text, values) =>
      guard(() => {
        database ??= new DatabaseSync(file, { readOnly: true, timeout: READER_LOCK_MS });
        let statement = statements.get(text);
        if (!statement) statements.set(text, (statement = database.prepare(text)));
        return statement.get(...(values as SQLInputValue[]));
      }),
    close: () => database?.close(),
  };
}

function compile(database: DatabaseSync, text: string): SqliteStatement {
  // SQLite refuses at once to upgrade a read transaction to a write while another process writes. Taking the write lock at
  // the start lets the transaction wait instead.
  const statement = guard(() => database.prepare(text === "begin" ? "begin immediate" : text));
  return {
    reader: statement.columns().length > 0,
    all: (values) => guard(() => statement.all(...(values as SQLInputValue[]))),
    run: (values) => guard(() => statement.run(...(values as SQLInputValue[]))),
    iterate: (values) => guard(() => statement.iterate(...(values as SQLInputValue[]))),
  };
}

async function open(file: string): Promise<DatabaseSync> {
  const database = guard(() => {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const isNew = !existsSync(file);
    const opened = new DatabaseSync(file, { timeout: LOCK_MS, enableForeignKeyConstraints: true });
    if (isNew) chmodSync(file, 0o600);
    return opened;
  });
  try {
    await switchToWal(database);
    guard(() => {
      // SQLite would block our thread at every commit. `sync` makes commits as durable as FULL does.
      database.exec("PRAGMA synchronous = NORMAL");
      // The first read creates the write-ahead log.
      database.exec("SELECT count(*) FROM sqlite_schema");
    });
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

// The switch needs exclusive access and, unlike other statements, does not wait for it. Servers that start at once on a new
// file therefore retry.
async function switchToWal(database: DatabaseSync): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      database.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (error) {
      if (attempt === 50) throw sqliteFailure(error);
      await sleep(20 + Math.random() * 80);
    }
  }
}

function guard<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw sqliteFailure(error);
  }
}
