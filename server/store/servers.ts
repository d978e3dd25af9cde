import type { Db } from "./schema.ts";

// A server with sandboxes of its own machine, for the other servers on the same database.
export interface KnownServer {
  host: string;
  baseUrl: string;
}

// Adds or renews the server's row.
export async function recordServer(db: Db, { host, baseUrl }: KnownServer, nowMs: number): Promise<void> {
  const row = { base_url: baseUrl, seen_at: nowMs };
  await db
    .insertInto("servers")
    .values({ host, ...row })
    .onConflict((conflict) => conflict.column("host").doUpdateSet(row))
    .execute();
}

export async function listServers(db: Db): Promise<KnownServer[]> {
  const rows = await db.selectFrom("servers").select(["host", "base_url"]).execute();
  return rows.map(({ host, base_url }) => ({ host, baseUrl: base_url }));
}

// Forgets servers that did not renew their row.
export async function purgeServers(db: Db, seenBeforeMs: number): Promise<void> {
  await db.deleteFrom("servers").where("seen_at", "<", seenBeforeMs).execute();
}
