import { sql, type Insertable } from "kysely";
import type { SandboxId, SessionId } from "@berth/contract";
import type { Engine } from "../open.ts";
import { prepare } from "../engines/prepared.ts";
import type { Db, SessionsTable } from "../schema.ts";
import {
  columnsOf,
  leaseColumns,
  ownerColumns,
  timeoutColumns,
  type NewOwner,
  type SessionChanges,
  type SessionColumns,
} from "./columns.ts";
import { warmSessions, type PoolKey } from "./read.ts";
import { FIRST_GENERATION, parseSession } from "./parse-session.ts";
import type { SetupState } from "./session-setup.ts";
import type { Site, Lease, Session, SessionState } from "./session.ts";

// Every statement that writes a session's row. Only sessions/states/transitions.ts moves rows, because the table of states decides what
// may be written; scripts/structure/queries.test.ts enforces that.

export interface NewSession {
  id: SessionId;
  sandboxId: SandboxId;
  state: SessionState;
  lease: Lease;
  template: string;
  templateHash: string;
  site: Site;
  sealedToken: string;
  owner: NewOwner | null;
  nowMs: number;
}

type Seen = Pick<Session, "id" | "state" | "generation"> & {
  countedFromMs?: number | null;
  setupState?: SetupState | null;
  sealedRelays?: string | null;
  limitsVersion?: number;
};

export async function insertSession(db: Db, { owner, site, lease, nowMs, ...session }: NewSession): Promise<Session> {
  const row: Insertable<SessionsTable> = {
    id: session.id,
    sandbox_id: session.sandboxId,
    state: session.state,
    generation: FIRST_GENERATION,
    ...leaseColumns(lease),
    template: session.template,
    template_hash: session.templateHash,
    driver: site.driver,
    host: site.host,
    token: session.sealedToken,
    metadata: "{}",
    auto_start_agent: 0,
    timeout_ms: 0,
    warned: 0,
    hibernated: 0,
    created_at: nowMs,
    updated_at: nowMs,
    ...(owner && ownerColumns(owner)),
  };
  return insertRow(db, row);
}

async function insertRow(db: Db, row: Insertable<SessionsTable>): Promise<Session> {
  const [inserted] = await insert(db, row);
  return parseSession(inserted!);
}

const insert = prepare((db, row: Insertable<SessionsTable>) => db.insertInto("sessions").values(row).returningAll());

export interface RecoveredSession extends Omit<NewSession, "state" | "lease" | "owner"> {
  owner: NewOwner;
  createdAtMs: number;
}

// A session for a sandbox whose row was lost: paused, with its files and without memory.
export async function insertRecovered(db: Db, { owner, site, nowMs, createdAtMs, ...session }: RecoveredSession): Promise<Session> {
  const row: Insertable<SessionsTable> = {
    id: session.id,
    sandbox_id: session.sandboxId,
    state: "paused",
    generation: FIRST_GENERATION,
    template: session.template,
    template_hash: session.templateHash,
    ...site,
    token: session.sealedToken,
    warned: 0,
    hibernated: 1,
    paused_at: nowMs,
    created_at: createdAtMs,
    updated_at: nowMs,
    counted_from: nowMs,
    ...ownerColumns(owner),
  };
  return insertRow(db, row);
}

// The guarded UPDATE of every transition: it happens only if the row still has the state and generation of `seen`. null: it
// has changed since.
export async function moveSession(db: Db, seen: Seen, to: SessionState, changes: SessionChanges): Promise<Session | null> {
  return writeIfUnchanged(db, seen, changes, { state: to, generation: seen.generation + 1 });
}

// Changes that keep state and generation: a step under way does not become stale by them. Guarded as `moveSession` is.
export async function updateSession(db: Db, seen: Seen, changes: SessionChanges): Promise<Session | null> {
  return writeIfUnchanged(db, seen, changes);
}

async function writeIfUnchanged(db: Db, seen: Seen, changes: SessionChanges, move: SessionColumns = {}): Promise<Session | null> {
  const columns: SessionColumns = { ...columnsOf(changes), ...move };
  const guards: SessionColumns = {
    id: seen.id,
    state: seen.state,
    generation: seen.generation,
    // The same time must not count twice, and an update does not change the generation.
    ...(columns.counted_from !== undefined && seen.countedFromMs != null && { counted_from: seen.countedFromMs }),
    // Several servers may watch one setup, and only one of them may report what it sees.
    ...(columns.setup_state !== undefined && seen.setupState != null && { setup_state: seen.setupState }),
    // All relays are sealed together, so that a change of one of them writes the others too.
    ...(typeof columns.relays === "string" && seen.sealedRelays != null && { relays: seen.sealedRelays }),
    // A change of some resources keeps the others, as the row had them.
    ...(columns.limits_version !== undefined && { limits_version: seen.limitsVersion ?? 0 }),
  };
  const [row] = await update(db, { columns, timeoutsFrom: changes.timeoutsFrom, guards });
  return row ? parseSession(row) : null;
}

interface Update {
  columns: SessionColumns;
  timeoutsFrom: SessionChanges["timeoutsFrom"];
  guards: SessionColumns;
}

const update = prepare((db, { columns, timeoutsFrom, guards }: Update) =>
  db
    .updateTable("sessions")
    .set({ ...(timeoutsFrom && timeoutColumns(timeoutsFrom)), ...columns })
    .where(({ and }) => and(guards))
    .returningAll(),
);

// False: the row has changed since.
export async function deleteSession(db: Db, seen: Seen): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom("sessions")
    .where("id", "=", seen.id)
    .where("generation", "=", seen.generation)
    .executeTakeFirst();
  return Number(numDeletedRows) === 1;
}

// Ends the lease of a step that failed, so that reconciliation may take the step over at once. False: the row has changed
// since.
export async function releaseLease(db: Db, seen: Seen): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("sessions")
    .set({ lease_until: 0 })
    .where("id", "=", seen.id)
    .where("generation", "=", seen.generation)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

export type SealedValues = Pick<NewOwner, "sealedEnv" | "sealedRelays">;

export interface WarmClaim {
  id: SessionId;
  to: SessionState;
  lease: Lease;
  nowMs: number;
  owner: Omit<NewOwner, keyof SealedValues>;
  // Sealed values belong to one sandbox, which is known only once it is claimed.
  seal(sandboxId: SandboxId): SealedValues;
}

// Claims one warm sandbox of the pool for a partner. Two claims at once get two different ones. null: there is none. The newest is
// taken, so that those beyond the demand stay unused and can be recognized by their age.
export async function claimWarm(db: Db, engine: Engine, pool: PoolKey, claim: WarmClaim): Promise<Session | null> {
  const { id, to, lease, nowMs } = claim;
  const owner = ownerColumns({ ...claim.owner, sealedEnv: null, sealedRelays: null });
  const columns = { ...owner, id, state: to, ...leaseColumns(lease), created_at: nowMs, updated_at: nowMs };
  const [row] = await claimOn[engine](db, { pool, columns });
  if (!row) return null;
  const { sealedEnv: env, sealedRelays: relays } = claim.seal(row.sandbox_id);
  if (env !== null || relays !== null) await db.updateTable("sessions").set({ env, relays }).where("id", "=", id).execute();
  return parseSession({ ...row, env, relays });
}

type WarmQuery = ReturnType<typeof newestWarm>;

const newestWarm = (db: Db, pool: PoolKey) => warmSessions(db, pool).select("id").orderBy("created_at", "desc").limit(1);

const prepareClaim = (withoutWaiting: (one: WarmQuery) => WarmQuery) =>
  prepare((db, { pool, columns }: { pool: PoolKey; columns: SessionColumns }) =>
    db
      .updateTable("sessions")
      .set({ ...columns, generation: sql`generation + 1` })
      .where("id", "=", withoutWaiting(newestWarm(db, pool)))
      .where("state", "=", "warm")
      .returningAll(),
  );

const claimOn: Record<Engine, ReturnType<typeof prepareClaim>> = {
  sqlite: prepareClaim((one) => one),
  postgres: prepareClaim((one) => one.forUpdate().skipLocked()),
};
