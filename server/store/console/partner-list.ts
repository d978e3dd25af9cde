import type { Db } from "../schema.ts";
import { countLive } from "../sessions/listing/count.ts";
import { parsePartner, type Partner } from "../partners/partners.ts";

export interface PartnerUse extends Partner {
  live: number;
}

// Lists one partner or all of them, ordered by id.
export async function listPartnerUse(db: Db, partnerId: string | null, { afterId = "", limit }: { afterId?: string; limit: number }) {
  let query = db.selectFrom("partners").selectAll().where("id", ">", afterId).orderBy("id").limit(limit);
  if (partnerId !== null) query = query.where("id", "=", partnerId);
  const found: PartnerUse[] = [];
  for (const row of await query.execute()) found.push({ ...parsePartner(row), live: await countLive(db, { partnerId: row.id }) });
  return found;
}
