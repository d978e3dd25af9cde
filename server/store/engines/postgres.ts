import { Pool, types, type PoolClient } from "pg";
import type { PostgresPool, PostgresPoolClient } from "kysely";
import type { Log } from "../../log.ts";
import { postgresFailure } from "./errors.ts";

export interface PostgresOptions {
  log: Log;
  // No statement timeout, for migrations.
  allowLongStatements?: boolean;
}

const CONNECT_TIMEOUT_MS = 5000;
const STATEMENT_TIMEOUT_MS = 20_000;

// A connection pool in the shape that Kysely's dialect expects. Its failures are our errors.
export function openPostgres(url: string, { log, allowLongStatements = false }: PostgresOptions): PostgresPool {
  // The server cancels a statement that takes too long. The query timeout covers a server that no longer answers.
  const timeouts = { statement_timeout: STATEMENT_TIMEOUT_MS, query_timeout: STATEMENT_TIMEOUT_MS + CONNECT_TIMEOUT_MS };
  const pool = new Pool({
    connectionString: url,
    max: 10,
    application_name: "berth",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    ...(allowLongStatements ? {} : timeouts),
    idle_in_transaction_session_timeout: 60_000,
    types: { getTypeParser },
  });
  // The pool replaces an idle connection that breaks, for instance when the database restarts.
  pool.on("error", (error) => log.warn("store.connection_lost", { message: error.message }));

  const clients = new WeakMap<PoolClient, PostgresPoolClient>();
  // Here and not after `pool.connect()`: a database that shuts down may end a new connection in the packet that opens it. When
  // the promise resolves, that error would already have met no listener, which ends the process.
  pool.on("connect", (client) => clients.set(client, wrap(client)));
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect().catch((error: unknown) => {
        throw postgresFailure(error);
      });
      return clients.get(client)!;
    },
  };
}

// Marks a broken connection, so that the pool discards it.
function wrap(client: PoolClient): PostgresPoolClient {
  let broken = false;
  client.on("error", () => (broken = true));
  const query = async (text: string, values: unknown[]) => {
    try {
      return await client.query(text, values);
    } catch (error) {
      const failure = postgresFailure(error);
      broken ||= failure !== error;
      throw failure;
    }
  };
  return { query: query as unknown as PostgresPoolClient["query"], release: (destroy) => client.release(destroy || broken) };
}

// Numbers, not strings: our 64-bit columns hold milliseconds and counts far below 2^53. NUMERIC is the type of sums.
const AS_NUMBER = new Set([types.builtins.INT8, types.builtins.NUMERIC]);
const getTypeParser = ((oid: TypeId, format: "text") =>
  AS_NUMBER.has(oid) ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser;
type TypeId = (typeof types.builtins)["INT8"];
