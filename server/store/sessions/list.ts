import type { SessionStatus } from "@berth/contract";
import type { SessionState } from "../../sessions/states.ts";
import { batchSizes, PAGE_BYTES } from "../page-budget.ts";
import type { Db } from "../schema.ts";
import { SEEN, type SeenRow } from "./sessions.ts";

// A partner's sessions, newest first. The place in the list is (created_at, id), which never changes, so that pages
// neither repeat nor skip a session while others come, go and change.

export interface ListQuery {
  status?: SessionStatus;
  externalUserId?: string;
  metadata?: Record<string, string>;
  limit: number;
  after?: { createdAt: number; id: string };
}

export interface ListResult {
  rows: SeenRow[];
  next: { createdAt: number; id: string } | null;
}

// Metadata has no index: a page looks at no more than this and may come back short, with a place to go on from.
const MAX_LOOKED_AT = 2000;
const MAX_LOOKED_AT_BYTES = 4 * PAGE_BYTES;

export async function listSessions(db: Db, partnerId: string, query: ListQuery): Promise<ListResult> {
  const wanted = Object.entries(query.metadata ?? {});
  const rows: SeenRow[] = [];
  const bytes = { inPage: 0, lookedAt: 0 };
  let after = query.after;
  const isFull = () => rows.length === query.limit || bytes.inPage >= PAGE_BYTES || bytes.lookedAt >= MAX_LOOKED_AT_BYTES;
  // One more than the page may have: whether it is there says whether there is a next page.
  for (const batch of batchSizes(wanted.length === 0 ? query.limit + 1 : MAX_LOOKED_AT)) {
    const found = await readBatch(db, partnerId, query, after, batch);
    for (const row of found) {
      if (isFull()) return { rows, next: after ?? null };
      after = { createdAt: row.created_at, id: row.id };
      const size = Buffer.byteLength(row.metadata);
      bytes.lookedAt += size;
      if (!matches(row, wanted)) continue;
      bytes.inPage += size;
      rows.push(row);
    }
    if (found.length < batch) return { rows, next: null };
  }
  return { rows, next: after ?? null };
}

function readBatch(db: Db, partnerId: string, query: ListQuery, after: ListQuery["after"], limit: number): Promise<SeenRow[]> {
  let select = db
    .selectFrom("sessions")
    .select(SEEN)
    .where("partner_id", "=", partnerId)
    .where("state", "not in", UNSEEN)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(limit);
  const { status, externalUserId } = query;
  if (externalUserId !== undefined) select = select.where("external_user_id", "=", externalUserId);
  if (status === "destroyed") select = select.where("state", "=", "destroyed");
  else if (status !== undefined) {
    // `destroyed_at is null` is there for the index of living sessions.
    select = select
      .where("destroyed_at", "is", null)
      .where((row) =>
        row.or([
          row("state", "in", SHOWN_AS[status]),
          row.and([row("state", "=", "destroying"), row("paused_at", status === "paused" ? "is not" : "is", null)]),
        ]),
      );
  }
  if (after) {
    const { createdAt, id } = after;
    select = select
      .where("created_at", "<=", createdAt)
      .where((row) => row.or([row("created_at", "<", createdAt), row("id", "<", id as SeenRow["id"])]));
  }
  return select.execute();
}

// The other side of `statusOf` (sessions/states.ts); a test compares the two.
const UNSEEN: SessionState[] = ["warming", "warm", "creating", "discarding"];
const SHOWN_AS: Record<"running" | "paused", SessionState[]> = {
  running: ["running", "pausing"],
  paused: ["paused", "hibernating", "resuming"],
};

function matches(row: SeenRow, wanted: [string, string][]): boolean {
  if (wanted.length === 0) return true;
  const metadata = JSON.parse(row.metadata) as Record<string, string>;
  return wanted.every(([key, value]) => Object.hasOwn(metadata, key) && metadata[key] === value);
}
