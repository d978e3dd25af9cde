import { DatabaseSync, type StatementSync } from "node:sqlite";

// Reads single rows over a connection of its own, so that it does not see an open transaction of the other one. It remembers results
// until something is written: taking SQLite's locks and reading a row costs more than the rest of a small request.
export interface SqliteReader {
  // The first row of a query with one parameter, parsed. undefined if there is none.
  read<Result>(text: string, parameter: string, parse: (row: unknown) => Result): Result | undefined;
  // Must be called after every write of this process.
  forget(): void;
  close(): void;
}

// Readers meet a lock only while the database is recovered, which takes a moment.
const LOCK_MS = 200;
// How often to look for writes of other processes, such as `berth partner suspend`. Looking costs as much as a read.
const CHECK_MS = 20;
// Bounds the memory.
const MAX_RESULTS = 500;

// `foreignChanges` is a number that changes whenever another process writes.
export function createSqliteReader(file: string, foreignChanges: () => number): SqliteReader {
  // Opened with the first query: there may be no tables before the migrations have run.
  let database: DatabaseSync | undefined;
  const statements = new Map<string, StatementSync>();
  const results = new Map<string, Map<string, unknown>>();
  let resultCount = 0;
  let seenChanges: number | undefined;
  let checkedAtMs = -Infinity;

  function forget(): void {
    if (resultCount === 0) return;
    results.clear();
    resultCount = 0;
  }

  function lookForChanges(): void {
    const nowMs = performance.now();
    if (nowMs - checkedAtMs < CHECK_MS) return;
    checkedAtMs = nowMs;
    const changes = foreignChanges();
    if (changes !== seenChanges) forget();
    seenChanges = changes;
  }

  function readRow(text: string, parameter: string): unknown {
    database ??= new DatabaseSync(file, { readOnly: true, timeout: LOCK_MS });
    let statement = statements.get(text);
    if (!statement) statements.set(text, (statement = database.prepare(text)));
    return statement.get(parameter);
  }

  function remember(text: string, parameter: string, result: unknown): void {
    if (resultCount >= MAX_RESULTS) forget();
    let ofQuery = results.get(text);
    if (!ofQuery) results.set(text, (ofQuery = new Map()));
    ofQuery.set(parameter, result);
    resultCount++;
  }

  return {
    read<Result>(text: string, parameter: string, parse: (row: unknown) => Result) {
      lookForChanges();
      const known = results.get(text);
      // A missing row is remembered too, as undefined.
      if (known?.has(parameter)) return known.get(parameter) as Result | undefined;
      const row = readRow(text, parameter);
      const result = row === undefined ? undefined : parse(row);
      remember(text, parameter, result);
      return result;
    },
    forget,
    close: () => database?.close(),
  };
}
