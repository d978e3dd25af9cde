import { AppError, newId, type Template } from "@berth/contract";
import type { Clock } from "../clock.ts";
import { newToken, type Secrets } from "../secrets.ts";
import type { Store } from "../store/open.ts";
import type { Db } from "../store/schema.ts";
import {
  claimWarm,
  countLive,
  insertSession,
  lockPartner,
  type Home,
  type Lease,
  type NewSessionRow,
  type SessionRow,
} from "../store/sessions.ts";
import type { Capacity } from "./capacity.ts";
import type { CreateRequest, PartnerLimits } from "./sessions.ts";
import { FIRST_GENERATION } from "./works.ts";

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

// The row of a session to come, under a lease: a warm sandbox of the pool if there is one, else a new row without a
// sandbox yet. Quotas are counted in the same transaction.
export async function reserve(
  deps: ReserveDeps,
  kind: Kind,
  partner: PartnerLimits,
  request: CreateRequest,
  warm: boolean,
): Promise<SessionRow> {
  const { store, home, secrets, clock } = deps;
  return store.transaction(async (tx) => {
    await checkQuota(tx, store, partner, request.externalUserId);
    const blank = blankRow(deps, kind, "creating");
    const { owner, untilMs } = deps.lease();
    const owned = {
      id: blank.id,
      partner_id: partner.id,
      external_user_id: request.externalUserId,
      metadata: JSON.stringify(request.metadata),
      auto_start_agent: request.autoStartAgent ? 1 : 0,
      timeout_ms: request.timeoutMs,
      lease_owner: owner,
      lease_until: untilMs,
      created_at: blank.created_at,
      updated_at: clock.now(),
    };
    const sealFor = (sandboxId: string) =>
      Object.keys(request.envVars).length === 0 ? null : secrets.seal(JSON.stringify(request.envVars), sandboxId);
    const claimed = warm
      ? await claimWarm(tx, store.engine, { template: kind.template.name, templateHash: kind.templateHash, home }, owned)
      : undefined;
    if (!claimed) {
      await deps.capacity.admit(tx);
      return insertSession(tx, { ...blank, ...owned, env: sealFor(blank.sandbox_id) });
    }
    // Sealed values belong to one sandbox, and which one it is we know only now.
    const env = sealFor(claimed.sandbox_id);
    if (env !== null) await tx.updateTable("sessions").set({ env }).where("id", "=", claimed.id).execute();
    return { ...claimed, env };
  });
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
