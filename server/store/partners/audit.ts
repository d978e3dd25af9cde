import type { Insertable } from "kysely";
import { prepare } from "../engines/prepared.ts";
import type { AuditTable, Db } from "../schema.ts";

// The audit log: who did what to which object, and from where. Rows are appended in the transaction of the change and never
// updated.

export interface AuditEntry {
  partnerId: string;
  // The id of the API key or operator token; `cli` for the command line.
  actor: string;
  // A noun and a verb: session.create, webhook.rotate.
  action: string;
  // The id of the object.
  target: string;
  ip: string | null;
  requestId: string | null;
}

export interface StoredAuditEntry extends AuditEntry {
  seq: number;
  at: number;
}

export interface AuditFilter {
  partnerId?: string;
  target?: string;
  // Only entries older than this.
  beforeSeq?: number;
  limit: number;
}

export async function appendAudit(tx: Db, entry: AuditEntry, nowMs: number): Promise<void> {
  const { partnerId, actor, action, target, ip, requestId } = entry;
  await append(tx, { at: nowMs, partner_id: partnerId, actor, action, target, ip, request_id: requestId });
}

const append = prepare((tx, row: Insertable<AuditTable>) => tx.insertInto("audit").values(row));

// Newest first.
export async function listAudit(db: Db, { partnerId, target, beforeSeq, limit }: AuditFilter): Promise<StoredAuditEntry[]> {
  let query = db.selectFrom("audit").selectAll().orderBy("seq", "desc").limit(limit);
  if (partnerId !== undefined) query = query.where("partner_id", "=", partnerId);
  if (target !== undefined) query = query.where("target", "=", target);
  if (beforeSeq !== undefined) query = query.where("seq", "<", beforeSeq);
  const rows = await query.execute();
  return rows.map(({ seq, at, partner_id: partner, actor, action, target: id, ip, request_id: requestId }) => ({
    seq,
    at,
    partnerId: partner,
    actor,
    action,
    target: id,
    ip,
    requestId,
  }));
}
