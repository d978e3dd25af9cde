import { setTimeout as sleep } from "node:timers/promises";
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type KyselyPlugin,
  type LimitNode,
  SqliteDialect,
  SqliteQueryCompiler,
  ValueNode,
} from "kysely";
import { resumeQueryWork } from "./query-work.ts";
import { isRead, type Sqlite } from "./sqlite.ts";

const RETRY_MS = 10;
// Primary result codes: another process, or another connection of this process, holds the lock.
const BUSY = 5;
const LOCKED = 6;

// Kysely's dialect for SQLite, except that a statement that meets another process's lock retries without blocking the event
// loop: SQLite itself would block our only thread. A statement that has waited too long fails, and from then on all others fail
// at once until the lock is gone, instead of each after its own wait.
export function sqliteDialect({ database, isInTransaction }: Sqlite, lockTimeoutMs: number): Dialect {
  const plain = new SqliteDialect({ database });
  let lockedSinceMs: number | undefined;

  // Only a single statement or the start of a transaction meets a lock. Inside a transaction we hold it.
  async function retryWhileLocked<T>(query: CompiledQuery, execute: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        resumeQueryWork(query);
        const result = await execute();
        // Reads need no lock, so a successful read does not show that the lock is gone.
        if (isRead(query.sql)) return result;
        lockedSinceMs = undefined;
        if (!isInTransaction()) committed.add(query.queryId);
        return result;
      } catch (error) {
        if (!isLocked(error)) throw error;
        lockedSinceMs ??= performance.now();
        if (performance.now() - lockedSinceMs >= lockTimeoutMs) throw error;
        await sleep(RETRY_MS * (0.5 + Math.random()));
      }
    }
  }

  const withRetry = (connection: DatabaseConnection): DatabaseConnection => ({
    executeQuery: (query, options) => retryWhileLocked(query, () => connection.executeQuery(query, options)),
    streamQuery: (query, chunkSize, options) => connection.streamQuery(query, chunkSize, options),
  });

  function createDriver(): Driver {
    const driver = plain.createDriver();
    const acquire = driver.acquireConnection.bind(driver);
    let connection: DatabaseConnection | undefined;
    driver.acquireConnection = async () => (connection ??= withRetry(await acquire()));
    // SQLite has already rolled back a transaction that met a full disk. Another rollback would fail and hide the reason.
    const rollback = driver.rollbackTransaction.bind(driver);
    driver.rollbackTransaction = async (inside) => {
      if (isInTransaction()) await rollback(inside);
    };
    return driver;
  }

  return {
    createDriver,
    createAdapter: () => plain.createAdapter(),
    createQueryCompiler: () => new QueryCompiler(),
    createIntrospector: (db) => plain.createIntrospector(db),
  };
}

// SQLite looks at the value of a bound limit when it plans a query, and therefore plans it again at every run, which takes ten times as
// long as to run it. So a limit is written into the text.
class QueryCompiler extends SqliteQueryCompiler {
  protected override visitLimit(node: LimitNode): void {
    const value = ValueNode.is(node.limit) ? node.limit.value : undefined;
    if (!Number.isSafeInteger(value)) return super.visitLimit(node);
    this.append(`limit ${value as number}`);
  }
}

// The statements that were a transaction by themselves.
const committed = new WeakSet<CompiledQuery["queryId"]>();

// Delays the result of such a statement until it is on disk. Kysely has released the connection by then, so other statements
// can run and share the sync.
export const waitForSync = (sync: Sqlite["sync"]): KyselyPlugin => ({
  transformQuery: ({ node }) => node,
  async transformResult({ result, queryId }) {
    if (committed.has(queryId)) await sync();
    return result;
  },
});

function isLocked(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause as { errcode?: number } | undefined) : undefined;
  const code = (cause?.errcode ?? 0) & 0xff;
  return code === BUSY || code === LOCKED;
}
