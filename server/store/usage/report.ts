import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "kysely";
import type { UsageGroup } from "@berth/contract";
import type { Db } from "../schema.ts";
import { dayOf, nextDay, PEAKS, SUMS, TIMES, type Amounts } from "./days.ts";
import { byGroups, emptyRow, type UsageRow } from "./usage-row.ts";

export interface UsageQuery {
  partnerId: string;
  // The first day, and the first one after the last.
  fromDay: number;
  toDay: number;
  groups: readonly UsageGroup[];
  // The time of live sessions counts up to now.
  nowMs: number;
  maxRows: number;
}

export class TooManyRows extends Error {}

// The usage of a partner, added up for each group. Without groups it is one row. Throws TooManyRows.  Each statement reads one day,
// and the past and the current time of a session together. A session that changes in the meantime is not counted twice: to a day
// that is over, its current time adds the same before and after the change.
export async function readUsage(db: Db, query: UsageQuery): Promise<UsageRow[]> {
  const { partnerId, groups, nowMs, maxRows } = query;
  const rows = new Map<string, UsageRow>();
  if (groups.length === 0) rows.set("[]", emptyRow());
  const columns = groups.flatMap((group) => (group === "day" ? [] : [COLUMNS[group]]));
  const lastDay = dayOf(nowMs);
  for (let day = query.fromDay; day < query.toDay && day <= lastDay; day = nextDay(day)) {
    const ofDay = groups.includes("day") ? [day] : [];
    for await (const slice of slices(db, { partnerId, day, nowMs, columns })) {
      for (const found of slice) {
        const key = JSON.stringify([...ofDay, ...columns.map((column) => found[column])]);
        const row = rows.get(key) ?? emptyRow({ ...namesOf(found), ...(ofDay.length > 0 && { day }) });
        rows.set(key, row);
        add(row, found);
      }
      if (rows.size > maxRows) throw new TooManyRows();
    }
  }
  return [...rows.values()].toSorted(byGroups(groups));
}

const COLUMNS = { session: "session_id", user: "external_user_id", template: "template" } as const;
type Names = Partial<Record<(typeof COLUMNS)[keyof typeof COLUMNS], string>>;
type Found = Names & Amounts;

interface DayQuery {
  partnerId: string;
  day: number;
  nowMs: number;
  columns: readonly (keyof Names)[];
}

// Sessions of one statement. SQLite answers without yielding, so more of them would hold up the event loop.
const SLICE = 1000;

async function* slices(db: Db, query: DayQuery): AsyncGenerator<Found[]> {
  for (let after = ""; ;) {
    const upTo = await endOfSlice(db, query, after);
    yield await readSlice(db, query, { after, upTo });
    if (upTo === null) return;
    after = upTo;
    await nextTurn();
  }
}

// The last session of a slice; null if the rest is small enough.
async function endOfSlice(db: Db, { partnerId, day }: DayQuery, after: string): Promise<string | null> {
  const { rows } = await sql<{ id: string | null }>`select min(id) as id from (
    select * from (select session_id as id from usage_days where day = ${day} and partner_id = ${partnerId} and session_id > ${after}
      order by session_id limit 1 offset ${SLICE}) as past
    union all
    select * from (select id from sessions where partner_id = ${partnerId} and counted_from is not null and id > ${after}
      order by id limit 1 offset ${SLICE}) as live) as ends`.execute(db);
  return rows[0]?.id ?? null;
}

async function readSlice(
  db: Db,
  { partnerId, day, nowMs, columns }: DayQuery,
  { after, upTo }: { after: string; upTo: string | null },
): Promise<Found[]> {
  const endMs = Math.min(nextDay(day), nowMs);
  const within = (id: string) =>
    upTo === null ? sql`${sql.ref(id)} > ${after}` : sql`${sql.ref(id)} > ${after} and ${sql.ref(id)} <= ${upTo}`;
  const current = sql`${sql.val(endMs)} - case when counted_from < ${day} then ${day} else counted_from end`;
  const names = columns.map((column) => sql.ref(column));
  const amounts = [
    ...SUMS.map((name) => sql`cast(sum(${sql.ref(name)}) as double precision) as ${sql.ref(name)}`),
    ...PEAKS.map((name) => sql`max(${sql.ref(name)}) as ${sql.ref(name)}`),
  ];
  const { rows } = await sql<Found>`select ${sql.join([...names, ...amounts])} from (
    select session_id, external_user_id, template, ${sql.join(AMOUNTS.map((name) => sql.ref(name)))}
    from usage_days where day = ${day} and partner_id = ${partnerId} and ${within("session_id")}
    union all
    select id, external_user_id, template,
      case when paused_at is null then ${current} else 0 end,
      case when paused_at is not null and hibernated = 0 then ${current} else 0 end,
      case when paused_at is not null and hibernated = 1 then ${current} else 0 end,
      ${sql.join(AMOUNTS.slice(TIMES.length).map(() => sql`0`))}
    from sessions where partner_id = ${partnerId} and counted_from is not null and counted_from < ${endMs} and ${within("id")}
  ) as usage ${names.length > 0 ? sql`group by ${sql.join(names)}` : sql``}`.execute(db);
  // A sum over no rows is null.
  return rows.filter(({ running_ms }) => running_ms !== null);
}

const AMOUNTS = [...SUMS, ...PEAKS] as const;

const namesOf = ({ session_id, external_user_id, template }: Names) => ({
  ...(session_id !== undefined && { sessionId: session_id }),
  ...(external_user_id !== undefined && { externalUserId: external_user_id }),
  ...(template !== undefined && { template }),
});

function add(row: UsageRow, found: Found): void {
  row.ms.running += found.running_ms;
  row.ms.paused += found.paused_ms;
  row.ms.hibernated += found.hibernated_ms;
  row.cpuMs += found.cpu_ms;
  row.memory.peak = Math.max(row.memory.peak, found.memory_peak);
  row.memory.sum += found.memory_sum;
  row.memory.samples += found.memory_samples;
  row.disk.peak = Math.max(row.disk.peak, found.disk_peak);
  row.disk.sum += found.disk_sum;
  row.disk.samples += found.disk_samples;
  row.egressBytes += found.egress_bytes;
  row.ingressBytes += found.ingress_bytes;
  row.inputTokens += found.input_tokens;
  row.outputTokens += found.output_tokens;
}
