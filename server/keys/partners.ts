import { AppError } from "@berth/contract";
import type { Clock } from "../clock.ts";
import type { Store } from "../store/open.ts";
import {
  allPartners,
  changePartner,
  findPartner,
  findPartnerFast,
  insertPartner,
  type Partner,
  type PartnerChanges,
} from "../store/partners/partners.ts";
import type { Db } from "../store/schema.ts";

export { NO_BRANDING, type Partner, type PartnerChanges } from "../store/partners/partners.ts";

export async function createPartner(db: Db, clock: Clock, id: string, changes: PartnerChanges = {}): Promise<Partner> {
  const isNew = await insertPartner(db, { ...changes, id, createdAt: clock.now() });
  if (!isNew) throw new AppError("validation_failed", { message: `There is a partner ${id} already` });
  return getPartner(db, id);
}

export async function getPartner(db: Db, id: string): Promise<Partner> {
  return required(id, await findPartner(db, id));
}

// Used by callers that ask with every request.
export async function readPartner(store: Store, id: string): Promise<Partner> {
  return required(id, await findPartnerFast(store, id));
}

export async function listPartners(db: Db): Promise<Partner[]> {
  return allPartners(db);
}

// Other servers apply the change within the time that authenticate.ts caches a partner.
export async function updatePartner(db: Db, id: string, changes: PartnerChanges): Promise<Partner> {
  await changePartner(db, id, changes);
  return getPartner(db, id);
}

function required(id: string, partner: Partner | null): Partner {
  if (!partner) throw new AppError("not_found", { message: `There is no partner ${id}` });
  return partner;
}
