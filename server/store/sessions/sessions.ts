import { sql, type Insertable, type Selectable, type Updateable } from "kysely";
import type { SandboxId, SessionId } from "@berth/contract";
import type { SessionState } from "../../sessions/states.ts";
import type { Engine } from "../open.ts";
import { prepareFirst } from "../engines/prepared.ts";
import type { Db, SessionsTable } from "../schema.ts";

export type SessionRow = Selectable<SessionsTable>;
export type NewSessionRow = Insertable<SessionsTable>;
type Changes = Updateable<SessionsTable>;

// Who may work on a step, and until when.
export interface Lease {
  owner: string;
  untilMs: number;
}

export async function insertSession(db: Db, row: NewSessionRow): Promise<SessionRow> {
  return db.insertInto("sessions").values(row).returningAll().executeTakeFirstOrThrow();
}

export async function findSession(db: Db, id: string): Promise<SessionRow | undefined> {
  return db
    .selectFrom("sessions")
    .selectAll()
    .where("id", "=", id as SessionId)
    .executeTakeFirst();
}

// What can be seen of a session from outside.
export const SEEN = [
  "id",
  "sandbox_id",
  "partner_id",
  "external_user_id",
  "state",
  "generation",
  "template",
  "metadata",
  "timeout_ms",
  "expires_at",
  "paused_at",
  "stop_reason",
  "created_at",
  "updated_at",
] as const satisfies (keyof SessionRow)[];
export type SeenRow = Pick<SessionRow, (typeof SEEN)[number]>;

// For who only wants to look, which is what partners do most of the time: just these columns.
export const readSession = prepareFirst<SeenRow>((db) => db.selectFrom("sessions").select(SEEN).where("id", "=", "ses_").compile());

export const readSessionBySandbox = prepareFirst<SeenRow>((db) =>
  db.selectFrom("sessions").select(SEEN).where("sandbox_id", "=", "sbx_").compile(),
);

// What it takes to speak to a sandbox's daemon: its token, sealed, and where it lives.
export const readSandboxToken = prepareFirst<Pick<SessionRow, "token" | "driver" | "host">>((db) =>
  db.selectFrom("sessions").select(["token", "driver", "host"]).where("sandbox_id", "=", "sbx_").compile(),
);

export async function findSessionBySandbox(db: Db, sandboxId: string): Promise<SessionRow | undefined> {
  return db
    .selectFrom("sessions")
    .selectAll()
    .where("sandbox_id", "=", sandboxId as SandboxId)
    .executeTakeFirst();
}

// The blank sandboxes of one kind.
export interface PoolKey {
  template: string;
  templateHash: string;
  home: Home;
}

// Takes one warm sandbox out of the pool in one UPDATE. undefined when there is none.
export async function claimWarm(db: Db, engine: Engine, pool: PoolKey, changes: Changes): Promise<SessionRow | undefined> {
  let one = warmOf(db, pool);
  // Two claims at once take two different rows.
  if (engine === "postgres") one = one.forUpdate().skipLocked();
  return db
    .updateTable("sessions")
    .set({ ...changes, state: "creating", generation: sql`generation + 1` })
    .where("id", "=", one)
    .where("state", "=", "warm")
    .returningAll()
    .executeTakeFirst();
}

export async function hasWarm(db: Db, pool: PoolKey): Promise<boolean> {
  return (await warmOf(db, pool).executeTakeFirst()) !== undefined;
}

function warmOf(db: Db, { template, templateHash, home }: PoolKey) {
  return db
    .selectFrom("sessions")
    .select("id")
    .where("state", "=", "warm")
    .where("template", "=", template)
    .where("template_hash", "=", templateHash)
    .where("driver", "=", home.driver)
    .where("host", home.host === null ? "is" : "=", home.host)
    .limit(1);
}

// The driver and, for host-bound ones, the machine whose sandboxes a server acts on.
export interface Home {
  driver: string;
  host: string | null;
}

// The guarded UPDATE that every change of state goes through: it happens only if the row is still as `seen`.
export async function moveSession(
  db: Db,
  seen: { id: string; state: SessionState; generation: number },
  to: SessionState,
  changes: Changes,
): Promise<SessionRow | undefined> {
  return db
    .updateTable("sessions")
    .set({ ...changes, state: to, generation: seen.generation + 1 })
    .where("id", "=", seen.id as SessionId)
    .where("state", "=", seen.state)
    .where("generation", "=", seen.generation)
    .returningAll()
    .executeTakeFirst();
}

// A step whose lease has run out goes to whoever asks first; the generation goes up, so the former owner's result is stale.
export async function takeOverStep(db: Db, seen: SessionRow, lease: Lease, nowMs: number): Promise<SessionRow | undefined> {
  return db
    .updateTable("sessions")
    .set({ lease_owner: lease.owner, lease_until: lease.untilMs, generation: seen.generation + 1, updated_at: nowMs })
    .where("id", "=", seen.id)
    .where("state", "=", seen.state)
    .where("generation", "=", seen.generation)
    .returningAll()
    .executeTakeFirst();
}

// Says that nobody works on this step any more, so that reconcile may take it over at once.
export async function releaseLease(db: Db, seen: { id: string; generation: number }): Promise<void> {
  await db
    .updateTable("sessions")
    .set({ lease_until: 0 })
    .where("id", "=", seen.id as SessionId)
    .where("generation", "=", seen.generation)
    .execute();
}

export async function deleteSession(db: Db, seen: { id: string; generation: number }): Promise<boolean> {
  const result = await db
    .deleteFrom("sessions")
    .where("id", "=", seen.id as SessionId)
    .where("generation", "=", seen.generation)
    .executeTakeFirst();
  return Number(result.numDeletedRows) === 1;
}

// Changes that leave the state alone.
export async function updateSession(db: Db, seen: SessionRow, changes: Changes): Promise<SessionRow | undefined> {
  return db
    .updateTable("sessions")
    .set(changes)
    .where("id", "=", seen.id)
    .where("state", "=", seen.state)
    .where("generation", "=", seen.generation)
    .returningAll()
    .executeTakeFirst();
}

// Sandboxes of this home that hold memory: all that run or may be frozen. Blanks are the pool's, which no partner has.
export async function countSandboxes(db: Db, home: Home, { blanks = true } = {}): Promise<number> {
  const row = await db
    .selectFrom("sessions")
    .select(({ fn }) => fn.countAll().as("count"))
    .where("driver", "=", home.driver)
    .where("host", home.host === null ? "is" : "=", home.host)
    .where((w) => w.or([w("state", "in", HOLDING), w.and([w("state", "=", "paused"), w("hibernated", "=", 0)])]))
    .$if(!blanks, (rows) => rows.where("partner_id", "is not", null))
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

const HOLDING: SessionState[] = [
  "warming",
  "warm",
  "creating",
  "discarding",
  "running",
  "pausing",
  "hibernating",
  "resuming",
  "destroying",
];

// Sessions that count against a quota: everything a partner has that is not on its way out.
const LIVE: SessionState[] = ["creating", "running", "pausing", "paused", "hibernating", "resuming"];

export async function countLive(db: Db, partnerId: string, externalUserId?: string): Promise<number> {
  let query = db
    .selectFrom("sessions")
    .select(({ fn }) => fn.countAll().as("count"))
    .where("partner_id", "=", partnerId)
    // Word for word as in the index of live sessions, or it would not be used.
    .where("state", "<>", sql.lit("destroyed"))
    .where("state", "in", LIVE);
  if (externalUserId !== undefined) query = query.where("external_user_id", "=", externalUserId);
  return Number((await query.executeTakeFirstOrThrow()).count);
}

// Which of these sandboxes have programs that may run right now.
export async function runningAmong(db: Db, sandboxIds: readonly SandboxId[]): Promise<Set<SandboxId>> {
  const found = new Set<SandboxId>();
  for (let i = 0; i < sandboxIds.length; i += IDS_A_QUERY) {
    const ids = sandboxIds.slice(i, i + IDS_A_QUERY);
    const rows = await db.selectFrom("sessions").select("sandbox_id").where("sandbox_id", "in", ids).where("state", "in", ACTIVE).execute();
    for (const { sandbox_id } of rows) found.add(sandbox_id);
  }
  return found;
}

// The daemon starts what it starts before a create or resume is done, and goes on until a pause is.
const ACTIVE: SessionState[] = ["creating", "running", "pausing", "resuming"];
const IDS_A_QUERY = 500;

// PostgreSQL lets two transactions count at once. This makes all that count the sandboxes of one home wait for each other,
// until the transaction ends.
export async function lockHome(db: Db, { driver, host }: Home): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext(${`berth sandboxes ${driver} ${host ?? ""}`}))`.execute(db);
}

// PostgreSQL lets two transactions count at once; holding the partner's row makes the second one wait for the first.
export async function lockPartner(db: Db, partnerId: string): Promise<void> {
  await db.updateTable("partners").set({ id: partnerId }).where("id", "=", partnerId).execute();
}

export async function sessionsInState(db: Db, home: Home, states: readonly SessionState[], limit?: number): Promise<SessionRow[]> {
  let query = atHome(db, home).where("state", "in", [...states]);
  if (limit !== undefined) query = query.limit(limit);
  return query.execute();
}

// Steps of this home that nobody works on any more. With `predecessors` also those whose lease has not run out but belongs
// to another process: on one machine an earlier process of this server is known to be dead.
export async function abandonedSteps(db: Db, home: Home, nowMs: number, predecessorsOf?: string): Promise<SessionRow[]> {
  return atHome(db, home)
    .where("lease_until", "is not", null)
    .where((w) =>
      predecessorsOf === undefined
        ? w("lease_until", "<", nowMs)
        : w.or([w("lease_until", "<", nowMs), w("lease_owner", "!=", predecessorsOf)]),
    )
    .orderBy("lease_until")
    .limit(500)
    .execute();
}

function atHome(db: Db, home: Home) {
  return db
    .selectFrom("sessions")
    .selectAll()
    .where("driver", "=", home.driver)
    .where("host", home.host === null ? "is" : "=", home.host);
}
