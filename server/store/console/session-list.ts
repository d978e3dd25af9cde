import type { SandboxId, SessionId } from "@berth/contract";
import type { StatusFilter } from "@berth/contract/console.ts";
import type { Db } from "../schema.ts";
import { pageOf, type ListPosition } from "../sessions/listing/list.ts";
import type { SessionRow } from "../sessions/parse-session.ts";

// The sessions that the console lists, newest first, also in states that partners do not see.

export interface ConsoleFilter {
  // null: of every partner.
  partnerId: string | null;
  status: StatusFilter;
  template?: string;
  // A part of the id of the session, sandbox or user, in any case.
  search?: string;
  limit: number;
  after?: ListPosition;
}

export interface ConsolePage {
  rows: ConsoleRow[];
  // Where the next page starts; null at the end. A search that few sessions match may give a short page that is not the last.
  next: ListPosition | null;
}

// Without secrets, and without the metadata, which may be large.
const COLUMNS = [
  "id",
  "sandbox_id",
  "partner_id",
  "external_user_id",
  "state",
  "hibernated",
  "template",
  "host",
  "stop_reason",
  "created_at",
  "updated_at",
  "expires_at",
  "paused_at",
] as const satisfies (keyof SessionRow)[];
export type ConsoleRow = Pick<SessionRow, (typeof COLUMNS)[number]>;

// A search has no index, so a page scans at most this much and may end early.
const MAX_SCANNED = 2000;
const BATCH = 500;

export async function listConsoleSessions(db: Db, filter: ConsoleFilter): Promise<ConsolePage> {
  const needle = filter.search?.trim().toLowerCase();
  if (needle && WHOLE_ID.test(needle)) return { rows: await findById(db, filter.partnerId, needle), next: null };
  const rows: ConsoleRow[] = [];
  let after = filter.after;
  // One more row than the page may hold shows whether there is a next page.
  const batch = needle ? BATCH : filter.limit + 1;
  for (let scanned = 0; scanned < (needle ? MAX_SCANNED : batch); scanned += batch) {
    const found = await readBatch(db, filter, after, batch);
    for (const row of found) {
      if (rows.length === filter.limit) return { rows, next: after ?? null };
      after = { createdAt: row.created_at, id: row.id };
      if (!needle || matches(row, needle)) rows.push(row);
    }
    if (found.length < batch) return { rows, next: null };
  }
  return { rows, next: after ?? null };
}

const matches = ({ id, sandbox_id, external_user_id }: ConsoleRow, needle: string): boolean =>
  [id, sandbox_id, external_user_id].some((text) => text?.toLowerCase().includes(needle));

// The sessions with these ids, in any order.
export async function findConsoleSessions(db: Db, partnerId: string | null, ids: readonly string[]): Promise<ConsoleRow[]> {
  if (ids.length === 0) return [];
  return ownedRows(db, partnerId)
    .select(COLUMNS)
    .where("id", "in", ids as SessionId[])
    .execute();
}

const WHOLE_ID = /^(ses|sbx)_\w{26}$/;

function findById(db: Db, partnerId: string | null, id: string): Promise<ConsoleRow[]> {
  return ownedRows(db, partnerId)
    .select(COLUMNS)
    .where((row) => row.or([row("id", "=", id as SessionId), row("sandbox_id", "=", id as SandboxId)]))
    .execute();
}

// The only place that limits sessions to those of a partner.
export function ownedRows(db: Db, partnerId: string | null) {
  const rows = db.selectFrom("sessions").where("partner_id", "is not", null);
  return partnerId === null ? rows : rows.where("partner_id", "=", partnerId);
}

function readBatch(db: Db, filter: ConsoleFilter, after: ListPosition | undefined, limit: number): Promise<ConsoleRow[]> {
  let select = ownedRows(db, filter.partnerId).select(COLUMNS);
  const { status, template } = filter;
  if (status === "destroyed") select = select.where("state", "=", "destroyed");
  // `destroyed_at is null` lets the query use the index of live sessions.
  else if (status !== "all") select = select.where("destroyed_at", "is", null);
  if (status === "running") select = select.where("paused_at", "is", null);
  if (status === "paused") select = select.where("paused_at", "is not", null);
  if (template !== undefined) select = select.where("template", "=", template);
  return pageOf(select, after, limit).execute();
}
