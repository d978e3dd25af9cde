import type { Db } from "../schema.ts";
import { purgeSessions } from "../sessions/purge.ts";
import { abandonSnapshotsOf } from "../snapshots/write.ts";

// Deletes up to `limit` rows of a partner, and the partner itself when nothing else of it is left. Returns whether the partner
// is deleted. Call it repeatedly: deleting everything in one statement would block other writers. Throws if a session that is
// not destroyed remains. The audit log stays: it is the operator's record.
export async function deletePartnerRows(db: Db, partnerId: string, limit: number): Promise<boolean> {
  if ((await countLiveSessions(db, partnerId)) > 0) throw new Error(`The partner ${partnerId} still has sessions`);
  await abandonSnapshotsOf(db, partnerId);
  if (await deleteWebhookRows(db, partnerId, limit)) return false;
  const keys = db.selectFrom("keys").select("id").where("partner_id", "=", partnerId);
  await db.deleteFrom("rate_buckets").where("key_id", "in", keys).execute();
  const events = db.selectFrom("events").select("seq").where("partner_id", "=", partnerId).limit(limit);
  const usage = db.selectFrom("model_usage").select("session_id").where("partner_id", "=", partnerId).limit(limit);
  const usedDays = db.selectFrom("usage_days").where("partner_id", "=", partnerId);
  const usedDay = usedDays.select("day").orderBy("day").limit(1);
  const usedSessions = usedDays.select("session_id").where("day", "=", usedDay).limit(limit);
  const runs = db.selectFrom("runs").select("id").where("partner_id", "=", partnerId).limit(limit);
  const volumes = db.selectFrom("volumes").select("id").where("partner_id", "=", partnerId);
  for (const deletion of [
    db.deleteFrom("events").where("seq", "in", events),
    db.deleteFrom("runs").where("id", "in", runs),
    db.deleteFrom("idempotency").where("partner_id", "=", partnerId),
    db.deleteFrom("usage_days").where("day", "=", usedDay).where("partner_id", "=", partnerId).where("session_id", "in", usedSessions),
    db.deleteFrom("model_usage").where("session_id", "in", usage),
    db.deleteFrom("model_reservations").where("partner_id", "=", partnerId),
    db.deleteFrom("user_settings").where("partner_id", "=", partnerId),
    db.deleteFrom("volume_mounts").where("volume_id", "in", volumes),
    // The servers delete the files of volumes without a row.
    db.deleteFrom("volumes").where("partner_id", "=", partnerId),
    db.deleteFrom("keys").where("partner_id", "=", partnerId),
  ]) {
    const { numDeletedRows } = await deletion.executeTakeFirst();
    if (numDeletedRows > 0n) return false;
  }
  if ((await purgeSessions(db, { partnerId }, limit)) > 0) return false;
  await db.deleteFrom("partners").where("id", "=", partnerId).execute();
  return true;
}

export async function countLiveSessions(db: Db, partnerId: string): Promise<number> {
  const live = db.selectFrom("sessions").where("partner_id", "=", partnerId).where("state", "!=", "destroyed");
  return Number((await live.select(({ fn }) => fn.countAll<number>().as("count")).executeTakeFirstOrThrow()).count);
}

// True: some rows were deleted, and there may be more.
async function deleteWebhookRows(db: Db, partnerId: string, limit: number): Promise<boolean> {
  const endpoint = await db.selectFrom("webhook_endpoints").select("id").where("partner_id", "=", partnerId).limit(1).executeTakeFirst();
  if (!endpoint) return false;
  const deliveries = db.selectFrom("webhook_deliveries").select("id").where("endpoint_id", "=", endpoint.id).limit(limit);
  const { numDeletedRows } = await db.deleteFrom("webhook_deliveries").where("id", "in", deliveries).executeTakeFirst();
  if (numDeletedRows > 0n) return true;
  await db.deleteFrom("webhook_lanes").where("endpoint_id", "=", endpoint.id).execute();
  await db.deleteFrom("webhook_endpoints").where("id", "=", endpoint.id).execute();
  return true;
}
