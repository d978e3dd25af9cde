import { newId, type EventType } from "@berth/contract";
import type { Insertable, Selectable } from "kysely";
import { prepare } from "./engines/prepared.ts";
import { batchSizes, PAGE_BYTES } from "./page-budget.ts";
import type { Db, EventsTable } from "./schema.ts";

// The outbox: every change of a session appends its event in the same transaction. A reader that continues after the last
// number it saw misses nothing and sees nothing twice.

export interface NewEvent {
  partnerId: string;
  sessionId: string;
  type: EventType;
  at: number;
  // Of an event that may be appended again: then only the first counts.
  id?: string;
  // Sent to partners: no secrets, no environment variables.
  data: Record<string, unknown>;
}

export interface StoredEvent {
  seq: number;
  id: string;
  type: string;
  sessionId: string;
  at: number;
  data: Record<string, unknown>;
}

// Should be the last statement of a transaction: on PostgreSQL it locks the partner until the commit.
export async function appendEvent(tx: Db, event: NewEvent): Promise<void> {
  await append(tx, {
    id: event.id ?? newId("evt", event.at),
    partner_id: event.partnerId,
    session_id: event.sessionId,
    type: event.type,
    at: event.at,
    data: JSON.stringify(event.data),
  });
}

const append = prepare((tx, row: Insertable<EventsTable>) =>
  tx
    .insertInto("events")
    .values(row)
    .onConflict((conflict) => conflict.column("id").doNothing()),
);

// One page for a partner. It may hold fewer than `limit` events although there are more; only an empty page is the last.
export async function eventPage(db: Db, partnerId: string, afterSeq: number, limit: number): Promise<StoredEvent[]> {
  const page: StoredEvent[] = [];
  let bytes = 0;
  for (const batch of batchSizes(limit)) {
    const rows = await readEvents(db, partnerId, page.at(-1)?.seq ?? afterSeq, batch);
    for (const row of rows) {
      if (bytes >= PAGE_BYTES) return page;
      bytes += Buffer.byteLength(row.data);
      page.push(toEvent(row));
    }
    if (rows.length < batch) return page;
  }
  return page;
}

export async function eventsAfter(db: Db, partnerId: string, afterSeq: number, limit: number): Promise<StoredEvent[]> {
  return (await readEvents(db, partnerId, afterSeq, limit)).map(toEvent);
}

function readEvents(db: Db, partnerId: string, afterSeq: number, limit: number): Promise<EventRow[]> {
  return db
    .selectFrom("events")
    .selectAll()
    .where("partner_id", "=", partnerId)
    .where("seq", ">", afterSeq)
    .orderBy("seq")
    .limit(limit)
    .execute();
}

type EventRow = Selectable<EventsTable>;

const toEvent = (row: EventRow): StoredEvent => ({
  seq: row.seq,
  id: row.id,
  type: row.type,
  sessionId: row.session_id,
  at: row.at,
  data: JSON.parse(row.data) as Record<string, unknown>,
});

// 0 if there is none.
export async function lastEventSeq(db: Db, partnerId: string): Promise<number> {
  const row = await db
    .selectFrom("events")
    .select("seq")
    .where("partner_id", "=", partnerId)
    .orderBy("seq", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.seq ?? 0;
}

// The number of the event `id`. 0, the beginning, if it has been purged: then it is older than every other event.
export async function seqOfEvent(db: Db, partnerId: string, id: string): Promise<number> {
  const row = await db.selectFrom("events").select("seq").where("id", "=", id).where("partner_id", "=", partnerId).executeTakeFirst();
  return row?.seq ?? 0;
}

// Returns how many events it removed; 0 means that none is left to remove.
export async function purgeEvents(db: Db, beforeMs: number, limit: number): Promise<number> {
  const old = db.selectFrom("events").select("seq").where("at", "<", beforeMs).orderBy("at").limit(limit);
  const result = await db.deleteFrom("events").where("seq", "in", old).executeTakeFirst();
  return Number(result.numDeletedRows);
}
