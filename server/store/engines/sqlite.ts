import fs, { chmodSync, closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { SqliteDatabase, SqliteStatement } from "kysely";
import { createCheckpoints } from "./checkpoints.ts";
import { sqliteFailure } from "./errors.ts";
import { createGroupSync, type GroupSync } from "./group-sync.ts";
import { createSqliteReader, type SqliteReader } from "./sqlite-reader.ts";

const CACHED_STATEMENTS = 500;
// Beyond this length of the log, a commit copies it itself (see checkpoints.ts), 4 kB each: after a large transaction, or if writes never
// pause.
const LOG_PAGES = 8000;
// How long SQLite itself waits for a lock, blocking our thread; most locks are shorter. sqlite-dialect.ts handles longer ones.
const LOCK_MS = 20;

export interface Sqlite {
  // node:sqlite in the shape that Kysely's dialect expects.
  database: SqliteDatabase;
  isInTransaction: () => boolean;
  // SQLite itself does not sync a commit. Code that acknowledges a commit waits for this first. It does not block our thread.
  sync: GroupSync;
  // Changes whenever another process writes.
  foreignChanges: () => number;
  read: SqliteReader["read"];
  // Resolves when no thread uses the database. Must come before it is closed.
  end: () => Promise<void>;
}

export async function openSqlite(file: string): Promise<Sqlite> {
  const database = await open(file);
  const statements = new Map<string, SqliteStatement>();

  // Compiling a statement, or even counting its columns, costs more than running it, and the server uses a few hundred.
  function prepare(text: string): SqliteStatement {
    const known = statements.get(text);
    if (known) return known;
    if (statements.size >= CACHED_STATEMENTS) statements.clear();
    const statement = compile(database, text, onWrite);
    statements.set(text, statement);
    return statement;
  }

  const dataVersion = database.prepare("PRAGMA data_version");
  const foreignChanges = () => Number(dataVersion.get()?.["data_version"]);
  const reader = createSqliteReader(file, foreignChanges);
  const log = openLog(file);
  const checkpoints = createCheckpoints(file);
  const onWrite = () => {
    reader.forget();
    checkpoints.wrote();
  };
  const close = () => {
    reader.close();
    log.close();
    database.close();
  };
  return {
    database: { close, prepare },
    isInTransaction: () => database.isTransaction,
    sync: log.sync,
    foreignChanges,
    read: (...query) => guard(() => reader.read(...query)),
    end: async () => checkpoints[Symbol.asyncDispose](),
  };
}

// SQLite's write-ahead log, to which commits append. It stays the same file for as long as a connection is open.
function openLog(file: string): { sync: GroupSync; close(): void } {
  const descriptor = guard(() => openSync(`${file}-wal`, "r"));
  const sync = () =>
    new Promise<void>((resolve, reject) => fs.fdatasync(descriptor, (error) => (error ? reject(sqliteFailure(error)) : resolve())));
  return { sync: createGroupSync(sync), close: () => closeSync(descriptor) };
}

function compile(database: DatabaseSync, text: string, onWrite: () => void): SqliteStatement {
  // SQLite refuses at once to upgrade a read transaction to a write while another process writes. Taking the write lock at
  // the start lets the transaction wait instead.
  const statement = guard(() => database.prepare(text === "begin" ? "begin immediate" : text));
  const writes = !isRead(text);
  const execute = <T>(work: () => T): T => {
    try {
      return guard(work);
    } finally {
      if (writes) onWrite();
    }
  };
  return {
    reader: statement.columns().length > 0,
    all: (values) => execute(() => statement.all(...(values as SQLInputValue[]))),
    run: (values) => execute(() => statement.run(...(values as SQLInputValue[]))),
    iterate: (values) => guard(() => statement.iterate(...(values as SQLInputValue[]))),
  };
}

// A name that contains one of these words makes a write of a read, which is harmless.
const WRITES = /\b(?:insert|update|delete|replace)\b/;

// A query of Kysely, which writes the words of SQL in lower case.
export const isRead = (text: string): boolean => text.startsWith("select") || (text.startsWith("with ") && !WRITES.test(text));

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
      database.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
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
