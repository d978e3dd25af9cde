import type { SessionId, SessionStatus } from "@berth/contract";
import type { SelectQueryBuilder } from "kysely";
import { batchSizes, PAGE_BYTES, SLICE_BYTES, SLICE_ROWS } from "../../page-budget.ts";
import type { Db, Tables } from "../../schema.ts";
import { SESSION_STATES, STATUSES, type SessionState } from "../session.ts";
import { parseView, VIEW_COLUMNS, type SessionView, type ViewRow } from "./view.ts";

// A partner's sessions, the newest or the oldest first. The position in the list is (created_at, id), which never changes, so that pages
// neither repeat nor skip a session while others come, go and change.

export interface ListFilter {
  // One of these.
  status?: SessionStatus | readonly SessionStatus[];
  externalUserId?: string;
  // Each of these pairs must be in the session's metadata.
  metadata?: Record<string, string>;
  template?: string;
  // Created at this time or later.
  createdFromMs?: number;
  // Default: the newest first.
  order?: "asc" | "desc";
  limit: number;
  // Only sessions that come after this one in the list.
  after?: ListPosition;
}

export interface ListPosition {
  createdAt: number;
  id: string;
}

export interface SessionPage {
  sessions: SessionView[];
  // Where the next page starts; null at the end. A filter that few sessions match may give a short page that is not the last.
  next: ListPosition | null;
  // The size of the metadata of all sessions that were read, also of those that the filter does not match.
  metadataBytes: number;
}

// Metadata has no index, so a page scans at most this much and may end early, with the position where the next one starts.
const MAX_SCANNED = 2000;
const MAX_SCANNED_BYTES = 4 * PAGE_BYTES;

// `nextSlice` is awaited between the slices of a large page: SQLite works on the event loop.
export async function listSessions(
  db: Db,
  partnerId: string,
  filter: ListFilter,
  nextSlice: () => Promise<void> = async () => undefined,
): Promise<SessionPage> {
  const wanted = Object.entries(filter.metadata ?? {});
  const sessions: SessionView[] = [];
  const bytes = { inPage: 0, scanned: 0, inSlice: 0 };
  let rowsInSlice = 0;
  let after = filter.after;
  const page = (next: ListPosition | null): SessionPage => ({ sessions, next, metadataBytes: bytes.scanned });
  const isFull = () => sessions.length === filter.limit || bytes.inPage >= PAGE_BYTES || bytes.scanned >= MAX_SCANNED_BYTES;
  // One more row than the page may hold shows whether there is a next page.
  for (const batch of batchSizes(wanted.length === 0 ? filter.limit + 1 : MAX_SCANNED)) {
    const found = await readBatch(db, partnerId, filter, after, batch);
    for (const row of found) {
      if (isFull()) return page(after ?? null);
      after = { createdAt: row.created_at, id: row.id };
      const size = Buffer.byteLength(row.metadata);
      bytes.scanned += size;
      bytes.inSlice += size;
      const view = parseView(row);
      if (!view || !matches(view, wanted)) continue;
      bytes.inPage += size;
      sessions.push(view);
    }
    if (found.length < batch) return page(null);
    rowsInSlice += found.length;
    if (bytes.inSlice < SLICE_BYTES && rowsInSlice < SLICE_ROWS) continue;
    [bytes.inSlice, rowsInSlice] = [0, 0];
    await nextSlice();
  }
  return page(after ?? null);
}

function readBatch(db: Db, partnerId: string, filter: ListFilter, after: ListPosition | undefined, limit: number): Promise<ViewRow[]> {
  let select = db
    .selectFrom("sessions")
    .select(VIEW_COLUMNS)
    .where("partner_id", "=", partnerId)
    .where("state", "not in", statesShownAs(null));
  const { status, externalUserId, template, createdFromMs } = filter;
  if (template !== undefined) select = select.where("template", "=", template);
  if (createdFromMs !== undefined) select = select.where("created_at", ">=", createdFromMs);
  if (externalUserId !== undefined) select = select.where("external_user_id", "=", externalUserId);
  if (status !== undefined) {
    const wanted = [status].flat();
    // `destroyed_at is null` lets the query use the index of live sessions.
    if (!wanted.includes("destroyed")) select = select.where("destroyed_at", "is", null);
    select = select.where((row) =>
      row.or(
        wanted.flatMap((one) => [
          row("state", "in", statesShownAs(one)),
          ...(one === "destroyed"
            ? []
            : [row.and([row("state", "=", "destroying"), row("paused_at", one === "paused" ? "is not" : "is", null)])]),
        ]),
      ),
    );
  }
  return pageOf(select, after, limit, filter.order).execute();
}

export function pageOf<Row>(
  sessions: SelectQueryBuilder<Tables, "sessions", Row>,
  after: ListPosition | undefined,
  limit: number,
  order: "asc" | "desc" = "desc",
) {
  const page = sessions.orderBy("created_at", order).orderBy("id", order).limit(limit);
  if (!after) return page;
  const { createdAt, id } = after;
  const beyond = order === "desc" ? "<" : ">";
  return page
    .where("created_at", `${beyond}=`, createdAt)
    .where((row) => row.or([row("created_at", beyond, createdAt), row("id", beyond, id as SessionId)]));
}

// `destroying` is shown as what the session was, so the query asks for it separately.
const statesShownAs = (status: SessionStatus | null): SessionState[] =>
  SESSION_STATES.filter((state) => state !== "destroying" && STATUSES[state] === status);

function matches({ metadataJson }: SessionView, wanted: [string, string][]): boolean {
  if (wanted.length === 0) return true;
  const metadata = JSON.parse(metadataJson) as Record<string, string>;
  return wanted.every(([key, value]) => Object.hasOwn(metadata, key) && metadata[key] === value);
}
