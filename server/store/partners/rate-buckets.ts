import { sql } from "kysely";
import type { Db } from "../schema.ts";

// Takes up to `wanted` tokens from a key's bucket in one statement, after refilling it. PostgreSQL only: a single server keeps
// its buckets in memory.
export async function reserveTokens(
  db: Db,
  keyId: string,
  wanted: number,
  perMinute: number,
  nowMs: number,
): Promise<{ granted: number; left: number }> {
  const capacity = sql`${perMinute}::float8`;
  const now = sql`${nowMs}::bigint`;
  const available = sql`least(${capacity}, b.tokens + greatest(0, ${now} - b.updated_at) * ${capacity} / 60000)`;
  const granted = sql`least(${wanted}::float8, floor(${available}))`;
  const { rows } = await sql<{ granted: number; left: number }>`
    insert into rate_buckets as b (key_id, tokens, granted, updated_at)
    values (${keyId}, ${capacity} - ${wanted}::float8, ${wanted}::float8, ${now})
    on conflict (key_id) do update set
      tokens = ${available} - ${granted}, granted = ${granted}, updated_at = greatest(b.updated_at, ${now})
    returning granted, tokens as left`.execute(db);
  return rows[0]!;
}
