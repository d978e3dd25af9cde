import { sql } from "kysely";
import type { Db } from "./schema.ts";

// The first response to a request with an Idempotency-Key, for retries. A row without a response is a request in flight. Its
// owner renews the lease, so that a dead server blocks the key for seconds, not forever.

export interface Claim {
  partnerId: string;
  scope: string;
  fingerprint: string;
  owner: string;
}

export type Claimed = { is: "mine" } | { is: "done"; status: number; body: string } | { is: "in_flight" } | { is: "mismatch" };

export async function claimKey(db: Db, claim: Claim, nowMs: number, leaseUntil: number, expiresAt: number): Promise<Claimed> {
  const { partnerId, scope, fingerprint, owner } = claim;
  const fresh = { fingerprint, owner, status: null, body: null, lease_until: leaseUntil, created_at: nowMs, expires_at: expiresAt };
  for (;;) {
    const inserted = await db
      .insertInto("idempotency")
      .values({ partner_id: partnerId, scope, ...fresh })
      .onConflict((conflict) => conflict.columns(["partner_id", "scope"]).doNothing())
      .returning("scope")
      .executeTakeFirst();
    if (inserted) return { is: "mine" };

    const row = await theRow(db, claim).executeTakeFirst();
    if (!row) continue;
    const isOver = row.expires_at <= nowMs;
    if (!isOver && row.fingerprint !== fingerprint) return { is: "mismatch" };
    if (!isOver && row.status !== null) return { is: "done", status: row.status, body: row.body ?? "" };
    if (!isOver && row.lease_until > nowMs) return { is: "in_flight" };
    // The row has expired, or its server has died: the first request to update it gets it.
    const taken = await db
      .updateTable("idempotency")
      .set(fresh)
      .where("partner_id", "=", partnerId)
      .where("scope", "=", scope)
      .where("owner", "=", row.owner)
      .where("lease_until", "=", row.lease_until)
      .returning("scope")
      .executeTakeFirst();
    if (taken) return { is: "mine" };
  }
}

// False: another request has taken the key over, so this response does not count.
export async function storeResponse(
  db: Db,
  claim: Claim,
  response: { status: number; body: string; expiresAt?: number },
): Promise<boolean> {
  const { status, body, expiresAt } = response;
  const stored = await db
    .updateTable("idempotency")
    .set({ status, body, ...(expiresAt !== undefined && { expires_at: expiresAt }) })
    .where(({ and }) => and(inFlight(claim)))
    .returning("scope")
    .executeTakeFirst();
  return stored !== undefined;
}

export async function renewKey(db: Db, claim: Claim, leaseUntil: number): Promise<void> {
  await db
    .updateTable("idempotency")
    .set({ lease_until: leaseUntil })
    .where(({ and }) => and(inFlight(claim)))
    .execute();
}

// The request failed, so it may be retried with the same key.
export async function releaseKey(db: Db, claim: Claim): Promise<void> {
  await db
    .deleteFrom("idempotency")
    .where(({ and }) => and(inFlight(claim)))
    .execute();
}

const inFlight = ({ partnerId, scope, owner }: Claim) => ({ partner_id: partnerId, scope, owner, status: null });

// Releases all keys in flight on a server. Their owners start with `host/`.
export async function releaseKeysOf(db: Db, host: string): Promise<void> {
  await db
    .deleteFrom("idempotency")
    .where(sql`substr(owner, 1, ${host.length + 1})`, "=", `${host}/`)
    .where("status", "is", null)
    .execute();
}

export async function purgeIdempotency(db: Db, nowMs: number, limit: number): Promise<number> {
  const old = db.selectFrom("idempotency").select("scope").where("expires_at", "<=", nowMs).limit(limit);
  const { numDeletedRows } = await db
    .deleteFrom("idempotency")
    .where("expires_at", "<=", nowMs)
    .where("scope", "in", old)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

const theRow = (db: Db, claim: Claim) =>
  db.selectFrom("idempotency").selectAll().where("partner_id", "=", claim.partnerId).where("scope", "=", claim.scope);
