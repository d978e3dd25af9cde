import { AppError, isAppError, newId, type Template } from "@berth/contract";
import type { Clock } from "../clock.ts";
import { newToken, type Secrets } from "../secrets/secrets.ts";
import type { Store } from "../store/open.ts";
import type { Db } from "../store/schema.ts";
import {
  claimWarm,
  countLive,
  hasWarm,
  insertSession,
  lockPartner,
  moveSession,
  type Home,
  type Lease,
  type NewSessionRow,
  type SessionRow,
} from "../store/sessions/sessions.ts";
import type { Capacity } from "./capacity.ts";
import type { CreateRequest, PartnerLimits } from "./sessions.ts";
import { FIRST_GENERATION } from "./step-actions.ts";

export interface ReserveDeps {
  store: Store;
  home: Home;
  secrets: Secrets;
  clock: Clock;
  capacity: Capacity;
  lease(): Lease;
}

export interface Kind {
  template: Template;
  templateHash: string;
}

// What a create asks for.
export interface Wanted {
  kind: Kind;
  partner: PartnerLimits;
  request: CreateRequest;
}

// The row of a session to come, under a lease: a warm sandbox of the pool if there is one and `fromPool` allows it, else a
// new row without a sandbox yet. Quotas are counted in the same transaction.
export async function reserve(deps: ReserveDeps, wanted: Wanted, { fromPool }: { fromPool: boolean }): Promise<SessionRow> {
  const { store, capacity } = deps;
  return store.transaction(async (tx) => {
    await checkQuota(tx, store, wanted.partner, wanted.request.externalUserId);
    const claimed = fromPool ? await claim(deps, tx, wanted) : undefined;
    if (claimed) return claimed;
    await capacity.admit(tx);
    const blank = blankRow(deps, wanted.kind, "creating");
    return insertSession(tx, { ...blank, ...ownedColumns(deps, wanted), env: sealEnv(deps, wanted, blank.sandbox_id) });
  });
}

export interface Exchange {
  claimed: SessionRow;
  // The row that was given up. It is nobody's session any more, and under a lease to be discarded.
  left: SessionRow;
}

// Gives up the row of a create that still waits for its sandbox, and claims a warm one in its place: both or neither. null when
// there is none, or when the row has changed.
export async function exchange(deps: ReserveDeps, wanted: Wanted, row: SessionRow): Promise<Exchange | null> {
  const { store, clock } = deps;
  // Most looks find nothing, and need no transaction for that.
  if (!(await hasWarm(store.db, poolOf(deps, wanted.kind)))) return null;
  const { owner, untilMs } = deps.lease();
  const unowned = { partner_id: null, external_user_id: null, env: null };
  try {
    return await store.transaction(async (tx) => {
      const leased = { lease_owner: owner, lease_until: untilMs, updated_at: clock.now() };
      const left = await moveSession(tx, row, "discarding", { ...unowned, ...leased });
      const claimed = left && (await claim(deps, tx, wanted));
      // Undoes the transaction.
      if (!claimed) throw new AppError("session_busy");
      return { claimed, left };
    });
  } catch (error) {
    if (isAppError(error, "session_busy")) return null;
    throw error;
  }
}

async function claim(deps: ReserveDeps, tx: Db, wanted: Wanted): Promise<SessionRow | undefined> {
  const claimed = await claimWarm(tx, deps.store.engine, poolOf(deps, wanted.kind), ownedColumns(deps, wanted));
  if (!claimed) return undefined;
  // Sealed values belong to one sandbox, and which one it is we know only now.
  const env = sealEnv(deps, wanted, claimed.sandbox_id);
  if (env !== null) await tx.updateTable("sessions").set({ env }).where("id", "=", claimed.id).execute();
  return { ...claimed, env };
}

const poolOf = ({ home }: ReserveDeps, { template, templateHash }: Kind) => ({ template: template.name, templateHash, home });

function ownedColumns({ clock, lease }: ReserveDeps, { partner, request }: Wanted) {
  const nowMs = clock.now();
  const { owner, untilMs } = lease();
  return {
    id: newId("ses", nowMs),
    partner_id: partner.id,
    external_user_id: request.externalUserId,
    metadata: JSON.stringify(request.metadata),
    auto_start_agent: request.autoStartAgent ? 1 : 0,
    timeout_ms: request.timeoutMs,
    lease_owner: owner,
    lease_until: untilMs,
    created_at: nowMs,
    updated_at: nowMs,
  };
}

function sealEnv({ secrets }: ReserveDeps, { request }: Wanted, sandboxId: string): string | null {
  return Object.keys(request.envVars).length === 0 ? null : secrets.seal(JSON.stringify(request.envVars), sandboxId);
}

// A row that nobody owns yet: what the pool fills, and what a create fills in.
export function blankRow(
  { home, secrets, clock, lease }: Omit<ReserveDeps, "store" | "capacity">,
  kind: Kind,
  state: "warming" | "creating",
): NewSessionRow {
  const nowMs = clock.now();
  const sandboxId = newId("sbx", nowMs);
  const { owner, untilMs } = lease();
  return {
    id: newId("ses", nowMs),
    sandbox_id: sandboxId,
    state,
    generation: FIRST_GENERATION,
    lease_owner: owner,
    lease_until: untilMs,
    template: kind.template.name,
    template_hash: kind.templateHash,
    driver: home.driver,
    host: home.host,
    token: secrets.seal(newToken(), sandboxId),
    metadata: "{}",
    auto_start_agent: 0,
    timeout_ms: 0,
    warned: 0,
    hibernated: 0,
    created_at: nowMs,
    updated_at: nowMs,
  };
}

async function checkQuota(tx: Db, store: Store, partner: PartnerLimits, externalUserId: string): Promise<void> {
  if (partner.maxSessions === null && partner.maxSessionsPerUser === null) return;
  if (store.engine === "postgres") await lockPartner(tx, partner.id);
  if (partner.maxSessions !== null && (await countLive(tx, partner.id)) >= partner.maxSessions)
    throw new AppError("session_quota", { message: `The limit of ${partner.maxSessions} live sessions is reached` });
  if (partner.maxSessionsPerUser !== null && (await countLive(tx, partner.id, externalUserId)) >= partner.maxSessionsPerUser)
    throw new AppError("session_quota", { message: `The limit of ${partner.maxSessionsPerUser} live sessions for this user is reached` });
}
