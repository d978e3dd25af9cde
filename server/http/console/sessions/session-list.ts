import { isSessionId, type FieldFault } from "@berth/contract";
import { CONSOLE_PAGE_ROWS, STATUS_FILTERS, type ConsoleList, type ConsoleSession, type StatusFilter } from "@berth/contract/console.ts";
import { findConsoleSessions, listConsoleSessions, type ConsoleFilter, type ConsoleRow } from "../../../store/console/session-list.ts";
import type { Store } from "../../../store/open.ts";
import { statusOf } from "../../../store/sessions/session.ts";
import { requireNoFaults } from "../../requests/field-faults.ts";
import { decodeCursor, encodeCursor, single, type Query } from "../../session-format/list-query.ts";

// A page of sessions that match the query, or those whose ids it names.
export async function readSessionList(store: Store, partnerId: string | null, query: Query): Promise<ConsoleList<ConsoleSession>> {
  const { ids, ...filter } = parseQuery(query);
  if (ids) return { data: (await findConsoleSessions(store.db, partnerId, ids)).map(toConsoleSession), nextCursor: null };
  const { rows, next } = await listConsoleSessions(store.db, { ...filter, partnerId });
  return { data: rows.map(toConsoleSession), nextCursor: next && encodeCursor(next) };
}

const MAX_SEARCH = 200;

function parseQuery(query: Query): Omit<ConsoleFilter, "partnerId"> & { ids?: string[] } {
  const faults: FieldFault[] = [];
  const read = (name: string) => single(query, name, faults)?.replaceAll("\0", "\uFFFD") || undefined;
  const status = read("status") ?? "live";
  if (!isStatusFilter(status)) faults.push({ field: "status", message: `Must be one of ${STATUS_FILTERS.join(", ")}` });
  const [template, search, cursor] = [read("template"), read("search")?.slice(0, MAX_SEARCH), read("cursor")];
  const after = cursor === undefined ? undefined : (decodeCursor(cursor) ?? undefined);
  if (cursor !== undefined && !after) faults.push({ field: "cursor", message: "Must be the nextCursor of an earlier page" });
  const ids = read("ids")?.split(",").filter(isSessionId).slice(0, CONSOLE_PAGE_ROWS);
  requireNoFaults(faults);
  return {
    status: status as StatusFilter,
    ...(template !== undefined && { template }),
    ...(search !== undefined && { search }),
    ...(after && { after }),
    ...(ids && { ids }),
    limit: CONSOLE_PAGE_ROWS,
  };
}

const isStatusFilter = (text: string): text is StatusFilter => (STATUS_FILTERS as readonly string[]).includes(text);

export const toConsoleSession = (row: ConsoleRow): ConsoleSession => ({
  id: row.id,
  sandboxId: row.sandbox_id,
  partnerId: row.partner_id ?? "",
  externalUserId: row.external_user_id ?? "",
  status: statusOf({ state: row.state, was: row.paused_at === null ? "running" : "paused" }),
  state: row.state,
  isHibernated: row.hibernated === 1,
  template: row.template,
  host: row.host,
  stopReason: row.stop_reason,
  createdAt: new Date(row.created_at).toISOString(),
  updatedAt: new Date(row.updated_at).toISOString(),
  expiresAt: row.expires_at === null ? null : new Date(row.expires_at).toISOString(),
});
