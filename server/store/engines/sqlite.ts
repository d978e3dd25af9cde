import { chmodSync, existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { SqliteDatabase, SqliteStatement } from "kysely";
import { sqliteFailure } from "./errors.ts";

const CACHED_STATEMENTS = 500;
// How long SQLite itself waits for a lock, and our thread with it; most are gone sooner. For longer ones see
// sqlite-dialect.ts.
const LOCK_MS = 20;
// Who only reads meets a lock when the database is being recovered, and then for a moment.
const READER_LOCK_MS = 200;

export interface Sqlite {
  // node:sqlite in the shape that Kysely's dialect expects.
  database: SqliteDatabase;
  // Another number whenever another process has written.
  foreignChanges: () => number;
  // The first row, read over a connection of its own: a transaction that is open on the other one does not show.
  read: (text: string, values: readonly unknown[]) => unknown;
}

export async function openSqlite(file: string): Promise<Sqlite> {
  const database = await open(file);
  const statements = new Map<string, SqliteStatement>();

  // Compiling a statement, and even counting its columns, costs more than running it, and the same few hundred come again
  // and again.
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
  const close = () => {
    reader.close();
    database.close();
  };
  return { database: { close, prepare }, foreignChanges: () => Number(dataVersion.get()?.["data_version"]), read: reader.read };
}

// Opened with the first question: there may be no tables before the migrations have run.
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
  // A transaction that reads first and then writes cannot wait for another process's write: SQLite refuses it at once.
  // Taking the write lock at the beginning lets it wait its turn.
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
    // FULL: a commit that was acknowledged survives a power cut. The default of a WAL database may be less.
    guard(() => database.exec("PRAGMA synchronous = FULL"));
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

// The switch needs the database for itself for a moment and does not wait for it as other statements do, so several
// servers that start at once on a new file take turns here.
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
