import { sql } from "kysely";
import type { SandboxId, SessionId } from "@berth/contract";
import { MINUTE } from "../../clock.ts";
import type { Db } from "../schema.ts";
import type { Site } from "../sessions/session.ts";
import { addUsage, dayOf, ownerOf, type DayUsage, type UsageOwner } from "./days.ts";

// The measured usage of a sandbox. null: the engine does not measure it.
export interface Sample {
  owner: UsageOwner;
  atMs: number;
  // Counts since the sandbox was started.
  cpuMs: number | null;
  // If the sandbox itself reports its processor time: the number of its processors. null if it is measured.
  reportedCpus: number | null;
  memoryBytes: number | null;
  diskBytes: number | null;
}

// Adds samples of running sandboxes, at most one of each. Processor time counts from the sample before; both are one transaction, so that
// the next sample is right even if it is unknown whether this one was written.
export async function addSamples(tx: Db, samples: readonly Sample[]): Promise<void> {
  if (samples.length === 0) return;
  await addSinceLast(tx, samples);
  await tx
    .insertInto("usage_counters")
    .values(samples.map(({ owner, cpuMs, atMs }) => ({ session_id: owner.session_id, cpu_ms: Math.round(cpuMs ?? 0), sampled_at: atMs })))
    .onConflict((conflict) =>
      conflict.column("session_id").doUpdateSet(({ ref }) => ({ cpu_ms: ref("excluded.cpu_ms"), sampled_at: ref("excluded.sampled_at") })),
    )
    .execute();
}

// Adds the last samples of sandboxes whose processes have ended since. They count from zero when they are started again.
export async function addLastSamples(tx: Db, samples: readonly Sample[]): Promise<void> {
  if (samples.length === 0) return;
  await addSinceLast(tx, samples);
  await tx.deleteFrom("usage_counters").where("session_id", "in", idsOf(samples)).execute();
}

async function addSinceLast(tx: Db, samples: readonly Sample[]): Promise<void> {
  const counted = await countersOf(tx, samples);
  await addUsage(
    tx,
    samples.map((sample) => usageOf(sample, counted)),
  );
}

const idsOf = (samples: readonly Sample[]) => samples.map(({ owner }) => owner.session_id);

type Counters = ReadonlyMap<string, { cpu_ms: number; sampled_at: number }>;

async function countersOf(tx: Db, samples: readonly Sample[]): Promise<Counters> {
  const rows = await tx
    .selectFrom("usage_counters")
    .select(["session_id", "cpu_ms", "sampled_at"])
    .where("session_id", "in", idsOf(samples))
    .execute();
  return new Map(rows.map((row) => [row.session_id, row]));
}

// Before its first sample, a sandbox is started and may wait in the pool.
const FIRST_SAMPLE_MS = 5 * MINUTE;

function usageOf({ owner, atMs, cpuMs, reportedCpus, memoryBytes, diskBytes }: Sample, counted: Counters): DayUsage {
  const last = counted.get(owner.session_id);
  const before = last?.cpu_ms ?? 0;
  const now = Math.round(cpuMs ?? before);
  // A sandbox cannot report more than its processors can do in the time.
  const most = reportedCpus === null ? Infinity : Math.ceil(reportedCpus * Math.max(0, last ? atMs - last.sampled_at : FIRST_SAMPLE_MS));
  return {
    ...owner,
    day: dayOf(atMs),
    // The sandbox was started again if its counter is smaller.
    cpu_ms: Math.min(most, now >= before ? now - before : now),
    ...(memoryBytes !== null && { memory_peak: memoryBytes, memory_sum: memoryBytes, memory_samples: 1 }),
    ...(diskBytes !== null && { disk_peak: diskBytes, disk_sum: diskBytes, disk_samples: 1 }),
  };
}

export interface SandboxOwner {
  sandboxId: SandboxId;
  owner: UsageOwner;
}

// The place of a session in the order of `sessionsToSample`.
export interface SamplePosition {
  partnerId: string;
  sessionId: string;
}

export interface SamplePage {
  sessions: SandboxOwner[];
  // null at the end.
  next: SamplePosition | null;
}

// A page of the running sessions of this site, without those that another server has measured after `sampledAfterMs`.
export async function sessionsToSample(
  db: Db,
  site: Site,
  { after, limit, sampledAfterMs }: { after: SamplePosition; limit: number; sampledAfterMs: number },
): Promise<SamplePage> {
  const rows = await db
    .selectFrom("sessions")
    .leftJoin("usage_counters", "usage_counters.session_id", "sessions.id")
    .select(["sessions.id", "sandbox_id", "partner_id", "external_user_id", "template", "state", "sampled_at"])
    .where("counted_from", "is not", null)
    .where(({ and }) => and({ ...site }))
    .where(sql<boolean>`(partner_id, sessions.id) > (${after.partnerId}, ${after.sessionId})`)
    .orderBy("partner_id")
    .orderBy("sessions.id")
    .limit(limit)
    .execute();
  // With the state among the conditions, SQLite would sort all running sessions for each page.
  const due = rows.filter(({ state, sampled_at }) => state === "running" && (sampled_at === null || sampled_at <= sampledAfterMs));
  const last = rows.length < limit ? undefined : rows.at(-1);
  return { sessions: due.flatMap(toOwner), next: last ? { partnerId: last.partner_id ?? "", sessionId: last.id } : null };
}

// Sandboxes that belong to no partner are left out.
export async function ownersOf(db: Db, sandboxIds: readonly SandboxId[]): Promise<SandboxOwner[]> {
  if (sandboxIds.length === 0) return [];
  const columns = ["id", "sandbox_id", "partner_id", "external_user_id", "template"] as const;
  const rows = await db.selectFrom("sessions").select(columns).where("sandbox_id", "in", sandboxIds).execute();
  return rows.flatMap(toOwner);
}

interface OwnerRow {
  id: SessionId;
  sandbox_id: SandboxId;
  partner_id: string | null;
  external_user_id: string | null;
  template: string;
}

function toOwner({ id, sandbox_id, partner_id, external_user_id, template }: OwnerRow): SandboxOwner[] {
  if (partner_id === null) return [];
  return [{ sandboxId: sandbox_id, owner: ownerOf({ id, partnerId: partner_id, externalUserId: external_user_id ?? "", template }) }];
}

// Removes counters of sandboxes whose processes ended while no server could measure them.
export async function purgeCounters(db: Db): Promise<void> {
  const live = db.selectFrom("sessions").select("id").where("counted_from", "is not", null).where("hibernated", "=", 0);
  await db.deleteFrom("usage_counters").where("session_id", "not in", live).execute();
}
