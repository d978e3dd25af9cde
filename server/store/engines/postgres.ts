import { Pool, types, type PoolClient } from "pg";
import type { PostgresPool, PostgresPoolClient } from "kysely";
import type { Log } from "../../log.ts";
import { postgresFailure } from "./errors.ts";

const CONNECT_TIMEOUT_MS = 5000;
const STATEMENT_TIMEOUT_MS = 20_000;

// A pool of connections in the shape that Kysely's dialect expects, whose failures are our errors.
export function openPostgres(url: string, { log, patient = false }: { log: Log; patient?: boolean }): PostgresPool {
  // The server ends a statement that takes too long; the other is for a server that does not answer any more.
  const impatience = { statement_timeout: STATEMENT_TIMEOUT_MS, query_timeout: STATEMENT_TIMEOUT_MS + CONNECT_TIMEOUT_MS };
  const pool = new Pool({
    connectionString: url,
    max: 10,
    application_name: "berth",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    ...(patient ? {} : impatience),
    idle_in_transaction_session_timeout: 60_000,
    types: { getTypeParser },
  });
  // An idle connection that breaks (the database restarts) is replaced by the pool; nobody is waiting for it.
  pool.on("error", (error) => log.warn("store.connection_lost", { message: error.message }));

  const clients = new WeakMap<PoolClient, PostgresPoolClient>();
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect().catch((error: unknown) => {
        throw postgresFailure(error);
      });
      const known = clients.get(client) ?? wrap(client);
      clients.set(client, known);
      return known;
    },
  };
}

// Remembers whether the connection broke, so that the pool throws it away instead of handing it to the next one.
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

// Numbers, not text: our 64-bit columns hold milliseconds and counts, all far below 2^53. The other is the type of sums.
const AS_NUMBER = new Set([types.builtins.INT8, types.builtins.NUMERIC]);
const getTypeParser = ((oid: TypeId, format: "text") =>
  AS_NUMBER.has(oid) ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser;
type TypeId = (typeof types.builtins)["INT8"];
