import { AppError } from "@berth/contract";
import type { Selectable, Updateable } from "kysely";
import type { Clock } from "../clock.ts";
import { isDuplicate } from "../store/engines/errors.ts";
import type { Store } from "../store/open.ts";
import { prepareFirst } from "../store/engines/prepared.ts";
import type { Db, PartnersTable } from "../store/schema.ts";

// A company whose backend calls the API.
export interface Partner {
  id: string;
  name: string;
  state: "active" | "suspended";
  // Origins that may embed the workspace in a frame.
  origins: readonly string[];
  // null: no limit.
  maxSessions: number | null;
  maxSessionsPerUser: number | null;
  // Requests a minute for each key; null: the server's default.
  ratePerMinute: number | null;
  createdAt: number;
}

export type PartnerChanges = Partial<Omit<Partner, "id" | "createdAt">>;

// Ids go into launch URLs and log lines, so they are short and plain.
export const PARTNER_ID = /^[a-z0-9][a-z0-9_-]{0,62}$/;

export async function createPartner(db: Db, clock: Clock, id: string, changes: PartnerChanges = {}): Promise<Partner> {
  const row = { name: id, state: "active" as const, origins: "[]", max_sessions: null, max_sessions_per_user: null, rate_per_minute: null };
  try {
    await db
      .insertInto("partners")
      .values({ ...row, ...toRow(changes), id, created_at: clock.now() })
      .execute();
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    throw new AppError("validation_failed", { message: `There is a partner ${id} already`, cause: error });
  }
  return getPartner(db, id);
}

export async function getPartner(db: Db, id: string): Promise<Partner> {
  return found(id, await db.selectFrom("partners").selectAll().where("id", "=", id).executeTakeFirst());
}

// The same for who asks with every request.
export async function readPartner(store: Store, id: string): Promise<Partner> {
  return found(id, await firstPartner(store, id));
}

const firstPartner = prepareFirst<Selectable<PartnersTable>>((db) => db.selectFrom("partners").selectAll().where("id", "=", "").compile());

function found(id: string, row: Selectable<PartnersTable> | undefined): Partner {
  if (!row) throw new AppError("not_found", { message: `There is no partner ${id}` });
  return fromRow(row);
}

export async function listPartners(db: Db): Promise<Partner[]> {
  const rows = await db.selectFrom("partners").selectAll().orderBy("id").execute();
  return rows.map(fromRow);
}

// Takes effect on other servers within the time that keys.ts keeps what it knows.
export async function updatePartner(db: Db, id: string, changes: PartnerChanges): Promise<Partner> {
  const row = toRow(changes);
  if (Object.keys(row).length > 0) await db.updateTable("partners").set(row).where("id", "=", id).execute();
  return getPartner(db, id);
}

export function fromRow(row: Selectable<PartnersTable>): Partner {
  return {
    id: row.id,
    name: row.name,
    state: row.state,
    origins: JSON.parse(row.origins) as string[],
    maxSessions: row.max_sessions,
    maxSessionsPerUser: row.max_sessions_per_user,
    ratePerMinute: row.rate_per_minute,
    createdAt: row.created_at,
  };
}

function toRow(changes: PartnerChanges): Updateable<PartnersTable> {
  const row: Updateable<PartnersTable> = {
    name: changes.name,
    state: changes.state,
    origins: changes.origins && JSON.stringify(changes.origins),
    max_sessions: changes.maxSessions,
    max_sessions_per_user: changes.maxSessionsPerUser,
    rate_per_minute: changes.ratePerMinute,
  };
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined));
}
