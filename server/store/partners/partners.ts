import type { Selectable, Updateable } from "kysely";
import type { TimeoutAction } from "@berth/contract";
import type { Branding } from "@berth/contract/workspace/workspace.ts";
import { prepareFirst } from "../engines/prepared.ts";
import { isDuplicate } from "../engines/errors.ts";
import type { Store } from "../open.ts";
import type { Db, PartnersTable } from "../schema.ts";

// A company whose backend calls the API.
export interface Partner {
  id: string;
  name: string;
  state: "active" | "suspended";
  // Origins that may embed the workspace in a frame.
  origins: readonly string[];
  // How the workspace of its users looks.
  branding: Branding;
  // null: no limit.
  maxSessions: number | null;
  maxSessionsPerUser: number | null;
  // Requests a minute for each key; null: the server's default.
  ratePerMinute: number | null;
  // The idle timeout of sessions that name none, and whose template names none; null: none.
  idleTimeoutMs: number | null;
  // The rules of sessions that name none, and whose template names none; null: the server's default.
  autoResume: boolean | null;
  onTimeout: TimeoutAction | null;
  maxTimeoutMs: number | null;
  // Whether the operator's support may look at workspaces. Only the partner itself changes it.
  supportAccess: boolean;
  createdAt: number;
}

export const NO_BRANDING: Branding = { logo: null, accent: null, hideAgent: false, offerSsh: false };

export type PartnerChanges = Partial<Omit<Partner, "id" | "createdAt">>;

export interface NewPartner extends PartnerChanges {
  id: string;
  createdAt: number;
}

// False: there is such a partner already. A transaction on PostgreSQL has failed then; inside one, use `ensurePartner`.
export async function insertPartner(db: Db, partner: NewPartner): Promise<boolean> {
  try {
    await db.insertInto("partners").values(newRow(partner)).execute();
    return true;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}

// The same inside a transaction. False: there is such a partner already, and it is left as it is.
export async function ensurePartner(tx: Db, partner: NewPartner): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto("partners")
    .values(newRow(partner))
    .onConflict((conflict) => conflict.column("id").doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

export async function findPartner(db: Db, id: string): Promise<Partner | null> {
  const row = await db.selectFrom("partners").selectAll().where("id", "=", id).executeTakeFirst();
  return row ? parsePartner(row) : null;
}

// The same as a prepared query, for callers that read it with every request.
export async function findPartnerFast(store: Store, id: string): Promise<Partner | null> {
  return (await firstPartner(store, id)) ?? null;
}

const firstPartner = prepareFirst(
  (db) => db.selectFrom("partners").selectAll().where("id", "=", "").compile(),
  (row) => parsePartner(row),
);

export async function allPartners(db: Db): Promise<Partner[]> {
  const rows = await db.selectFrom("partners").selectAll().orderBy("id").execute();
  return rows.map(parsePartner);
}

export async function hasPartners(db: Db): Promise<boolean> {
  return (await db.selectFrom("partners").select("id").limit(1).executeTakeFirst()) !== undefined;
}

export async function changePartner(db: Db, id: string, changes: PartnerChanges): Promise<void> {
  const row = columnsOf(changes);
  if (Object.keys(row).length > 0) await db.updateTable("partners").set(row).where("id", "=", id).execute();
}

// PostgreSQL lets two transactions count at once. Writing the partner's row makes the second wait for the first.
export async function lockPartner(db: Db, partnerId: string): Promise<void> {
  await db.updateTable("partners").set({ id: partnerId }).where("id", "=", partnerId).execute();
}

export function parsePartner(row: Selectable<PartnersTable>): Partner {
  return {
    id: row.id,
    name: row.name,
    state: row.state,
    origins: JSON.parse(row.origins) as string[],
    branding: { ...NO_BRANDING, ...(JSON.parse(row.branding) as Partial<Branding>) },
    maxSessions: row.max_sessions,
    maxSessionsPerUser: row.max_sessions_per_user,
    ratePerMinute: row.rate_per_minute,
    idleTimeoutMs: row.idle_timeout_ms,
    autoResume: row.auto_resume === null ? null : row.auto_resume === 1,
    onTimeout: row.on_timeout,
    maxTimeoutMs: row.max_timeout_ms,
    supportAccess: row.support_access === 1,
    createdAt: row.created_at,
  };
}

const newRow = ({ id, createdAt, ...changes }: NewPartner): Selectable<PartnersTable> => ({
  name: id,
  state: "active",
  origins: "[]",
  branding: "{}",
  max_sessions: null,
  max_sessions_per_user: null,
  rate_per_minute: null,
  idle_timeout_ms: null,
  auto_resume: null,
  on_timeout: null,
  max_timeout_ms: null,
  support_access: 0,
  ...columnsOf(changes),
  id,
  created_at: createdAt,
});

function columnsOf(changes: PartnerChanges): Updateable<PartnersTable> {
  const row: Updateable<PartnersTable> = {
    name: changes.name,
    state: changes.state,
    origins: changes.origins && JSON.stringify(changes.origins),
    branding: changes.branding && JSON.stringify(changes.branding),
    max_sessions: changes.maxSessions,
    max_sessions_per_user: changes.maxSessionsPerUser,
    rate_per_minute: changes.ratePerMinute,
    idle_timeout_ms: changes.idleTimeoutMs,
    auto_resume: changes.autoResume == null ? changes.autoResume : Number(changes.autoResume),
    on_timeout: changes.onTimeout,
    max_timeout_ms: changes.maxTimeoutMs,
    support_access: changes.supportAccess === undefined ? undefined : Number(changes.supportAccess),
  };
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined));
}
