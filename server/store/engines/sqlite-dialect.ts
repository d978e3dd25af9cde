import { setTimeout as sleep } from "node:timers/promises";
import { type CompiledQuery, type DatabaseConnection, type Dialect, type Driver, SqliteDialect, type SqliteDatabase } from "kysely";
import { resumeQueryWork } from "./query-work.ts";

const RETRY_MS = 10;
// Primary result codes: another process, or another connection of this one, has the lock.
const BUSY = 5;
const LOCKED = 6;

// Kysely's dialect for SQLite, except that a statement which meets another process's lock waits for it without holding up
// everything else here: SQLite itself would wait in the middle of our only thread. Who has waited for too long gets the
// failure, and from then on so does everybody at once until the lock is gone, instead of each after its own wait.
export function sqliteDialect(database: SqliteDatabase, lockTimeoutMs: number): Dialect {
  const plain = new SqliteDialect({ database });
  let lockedSinceMs: number | undefined;

  // Only a statement that stands alone and the beginning of a transaction meet a lock: within one we have it.
  async function patiently<T>(query: CompiledQuery, execute: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        resumeQueryWork(query);
        const result = await execute();
        // Reading needs no lock, so it does not tell that there is none.
        if (!query.sql.startsWith("select")) lockedSinceMs = undefined;
        return result;
      } catch (error) {
        if (!isLocked(error)) throw error;
        lockedSinceMs ??= performance.now();
        if (performance.now() - lockedSinceMs >= lockTimeoutMs) throw error;
        await sleep(RETRY_MS * (0.5 + Math.random()));
      }
    }
  }

  const patient = (connection: DatabaseConnection): DatabaseConnection => ({
    executeQuery: (query, options) => patiently(query, () => connection.executeQuery(query, options)),
    streamQuery: (query, chunkSize, options) => connection.streamQuery(query, chunkSize, options),
  });

  function createDriver(): Driver {
    const driver = plain.createDriver();
    const acquire = driver.acquireConnection.bind(driver);
    let connection: DatabaseConnection | undefined;
    driver.acquireConnection = async () => (connection ??= patient(await acquire()));
    return driver;
  }

  return {
    createDriver,
    createAdapter: () => plain.createAdapter(),
    createQueryCompiler: () => plain.createQueryCompiler(),
    createIntrospector: (db) => plain.createIntrospector(db),
  };
}

function isLocked(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause as { errcode?: number } | undefined) : undefined;
  const code = (cause?.errcode ?? 0) & 0xff;
  return code === BUSY || code === LOCKED;
}
