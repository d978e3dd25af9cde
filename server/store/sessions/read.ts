import type { SandboxId, SessionId } from "@berth/contract";
import { prepare, prepareFirst } from "../engines/prepared.ts";
import type { Store } from "../open.ts";
import type { Db } from "../schema.ts";
import { parseSession, parseSessions, type MalformedRow } from "./parse-session.ts";
import type { Site, Session, SessionState } from "./session.ts";

export async function findSession(db: Db, id: string): Promise<Session | null> {
  const [row] = await sessionById(db, { id: id as SessionId });
  return row ? parseSession(row) : null;
}

const sessionById = prepare((db, { id }: { id: SessionId }) => db.selectFrom("sessions").selectAll().where("id", "=", id));

export async function findSessionBySandbox(db: Db, sandboxId: string): Promise<Session | null> {
  const [row] = await sessionBySandbox(db, { sandboxId: sandboxId as SandboxId });
  return row ? parseSession(row) : null;
}

const sessionBySandbox = prepare((db, { sandboxId }: { sandboxId: SandboxId }) =>
  db.selectFrom("sessions").selectAll().where("sandbox_id", "=", sandboxId),
);

// The encrypted token and the site of a sandbox, which a connection to its daemon needs.
export interface SandboxAccess {
  sealedToken: string;
  site: Site;
}

// null when there is no such sandbox, or when it is destroyed.
export async function readSandboxAccess(store: Store, sandboxId: string): Promise<SandboxAccess | null> {
  return (await readAccess(store, sandboxId)) ?? null;
}

const readAccess = prepareFirst(
  (db) => db.selectFrom("sessions").select(["token", "driver", "host"]).where("sandbox_id", "=", "sbx_").compile(),
  ({ token, driver, host }): SandboxAccess | null => (token === "" ? null : { sealedToken: token, site: { driver, host } }),
);

// Malformed rows are left out of the lists below.
export interface ListOptions {
  onMalformed?: ((row: MalformedRow) => void) | undefined;
}

// The sessions of a site in one state, narrowed down by the caller.
export async function sessionsIn<State extends SessionState>(
  db: Db,
  site: Site,
  state: State,
  narrow: (rows: ReturnType<typeof sessionsAt>) => ReturnType<typeof sessionsAt>,
): Promise<Extract<Session, { state: State }>[]> {
  const rows = await narrow(sessionsAt(db, site).where("state", "=", state)).execute();
  return parseSessions(rows) as Extract<Session, { state: State }>[];
}

// The same for a query that runs often. See `prepare` for what `narrow` may do with the parameters.
export function prepareSessionsIn<State extends SessionState, Parameters extends object>(
  state: State,
  narrow: (rows: ReturnType<typeof sessionsAt>, parameters: Parameters) => ReturnType<typeof sessionsAt>,
): (db: Db, site: Site, parameters: Parameters) => Promise<Extract<Session, { state: State }>[]> {
  const find = prepare((db, { site, parameters }: { site: Site; parameters: Parameters }) =>
    narrow(sessionsAt(db, site).where("state", "=", state), parameters),
  );
  return async (db, site, parameters) => parseSessions(await find(db, { site, parameters })) as Extract<Session, { state: State }>[];
}

export async function sessionsInState<State extends SessionState>(
  db: Db,
  site: Site,
  states: readonly State[],
  { onMalformed }: ListOptions = {},
): Promise<Extract<Session, { state: State }>[]> {
  const rows = await sessionsAt(db, site)
    .where("state", "in", [...states])
    .execute();
  return parseSessions(rows, onMalformed) as Extract<Session, { state: State }>[];
}

export async function hasSessionIn(db: Db, site: Site, state: SessionState): Promise<boolean> {
  const row = await db
    .selectFrom("sessions")
    .select("id")
    .where("state", "=", state)
    .where(({ and }) => and({ ...site }))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export interface AbandonedQuery extends ListOptions {
  nowMs: number;
  // This server. Only it knows which of its own steps it works on, so they are all returned.
  owner: string;
  // Also the steps under an unexpired lease of any other owner: on one machine, every earlier process is dead.
  isOnlyOwnerAlive: boolean;
}

// Steps of this site that no server works on any more, and those of this server.
export async function abandonedSteps(
  db: Db,
  site: Site,
  { nowMs, owner, isOnlyOwnerAlive, onMalformed }: AbandonedQuery,
): Promise<Session[]> {
  return parseSessions(await leasedSteps(db, { site, nowMs, owner, isOnlyOwnerAlive }), onMalformed);
}

const leasedSteps = prepare((db, { site, nowMs, owner, isOnlyOwnerAlive }: Omit<AbandonedQuery, "onMalformed"> & { site: Site }) => {
  const leased = sessionsAt(db, site).where("lease_until", "is not", null);
  return (isOnlyOwnerAlive ? leased : leased.where((w) => w.or([w("lease_until", "<", nowMs), w("lease_owner", "=", owner)])))
    .orderBy("lease_until")
    .limit(500);
});

// The blank sandboxes of one kind.
export interface PoolKey {
  template: string;
  templateHash: string;
  site: Site;
}

export async function hasWarm(db: Db, pool: PoolKey, besides = 0): Promise<boolean> {
  return (await oneWarm(db, { pool, besides })).length > 0;
}

const oneWarm = prepare((db, { pool, besides }: { pool: PoolKey; besides: number }) =>
  warmSessions(db, pool).select("id").limit(1).offset(besides),
);

// The sandboxes among these whose programs may run right now.
export async function runningAmong(db: Db, sandboxIds: readonly SandboxId[]): Promise<Set<SandboxId>> {
  const found = new Set<SandboxId>();
  for (let i = 0; i < sandboxIds.length; i += IDS_PER_QUERY) {
    const ids = sandboxIds.slice(i, i + IDS_PER_QUERY);
    const rows = await db.selectFrom("sessions").select("sandbox_id").where("sandbox_id", "in", ids).where("state", "in", ACTIVE).execute();
    for (const { sandbox_id } of rows) found.add(sandbox_id);
  }
  return found;
}

// The sandboxes of partners whose programs may run right now.
export async function runningSandboxes(db: Db): Promise<SandboxId[]> {
  const query = db.selectFrom("sessions").select("sandbox_id").where("partner_id", "is not", null).where("state", "in", ACTIVE);
  return (await query.execute()).map(({ sandbox_id }) => sandbox_id);
}

// The sandboxes among these that have a session, in whatever state.
export async function ownedAmong(db: Db, sandboxIds: readonly SandboxId[]): Promise<Set<SandboxId>> {
  const found = new Set<SandboxId>();
  for (let i = 0; i < sandboxIds.length; i += IDS_PER_QUERY) {
    const ids = sandboxIds.slice(i, i + IDS_PER_QUERY);
    for (const { sandbox_id } of await db.selectFrom("sessions").select("sandbox_id").where("sandbox_id", "in", ids).execute())
      found.add(sandbox_id);
  }
  return found;
}

// The daemon starts programs before a create or resume is done, and they run until a pause is done.
const ACTIVE: SessionState[] = ["creating", "running", "pausing", "thawing", "rebuilding", "resuming"];
export const IDS_PER_QUERY = 500;

// True unless the session of this sandbox is destroyed or never existed.
export async function isSandboxOwned(db: Db, sandboxId: SandboxId): Promise<boolean> {
  const owner = await findSandboxOwner(db, sandboxId);
  return owner !== undefined && owner.state !== "destroyed";
}

// The session of a sandbox, also if the rest of its row is malformed.
export function findSandboxOwner(db: Db, sandboxId: SandboxId): Promise<Pick<Session, "id" | "state"> | undefined> {
  return db.selectFrom("sessions").select(["id", "state"]).where("sandbox_id", "=", sandboxId).executeTakeFirst();
}

// The drivers that live sessions of this machine, or of no machine, were created with.
export async function driversInUse(db: Db, host: string): Promise<string[]> {
  const rows = await db
    .selectFrom("sessions")
    .select("driver")
    .distinct()
    .where("state", "!=", "destroyed")
    .where((row) => row.or([row("host", "is", null), row("host", "=", host)]))
    .execute();
  return rows.map(({ driver }) => driver);
}

export function warmSessions(db: Db, { template, templateHash, site }: PoolKey) {
  return db
    .selectFrom("sessions")
    .where("state", "=", "warm")
    .where("template", "=", template)
    .where("template_hash", "=", templateHash)
    .where(({ and }) => and({ ...site }));
}

export function sessionsAt(db: Db, site: Site) {
  return db
    .selectFrom("sessions")
    .selectAll()
    .where(({ and }) => and({ ...site }));
}

// The template and the sealed relays of a sandbox, which its requests to a relay need.
export interface RelayOwner {
  partnerId: string | null;
  template: string;
  sealedRelays: string | null;
}

export async function findRelayOwner(db: Db, sandboxId: SandboxId): Promise<RelayOwner | undefined> {
  return db
    .selectFrom("sessions")
    .select(["partner_id as partnerId", "template", "relays as sealedRelays"])
    .where("sandbox_id", "=", sandboxId)
    .executeTakeFirst();
}
