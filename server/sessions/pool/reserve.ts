import { AppError, newId, type SandboxId, type Template, type TimeoutAction } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import { newToken, type Secrets } from "../../secrets/secrets.ts";
import type { Store, Sync } from "../../store/open.ts";
import { lockPartner } from "../../store/partners/partners.ts";
import type { Db } from "../../store/schema.ts";
import { countLive } from "../../store/sessions/listing/count.ts";
import { hasWarm } from "../../store/sessions/read.ts";
import { isInStep, type Site, type Lease, type Session, type SessionInStep, type Step } from "../../store/sessions/session.ts";
import type { NewOwner } from "../../store/sessions/columns.ts";
import { claimWarm, insertSession, type NewSession, type SealedValues } from "../../store/sessions/write.ts";
import type { Span } from "../../tracing/span.ts";
import type { Capacity } from "./capacity.ts";
import type { Kind } from "../sandbox-spec.ts";
import type { CreateRequest, PartnerLimits } from "../sessions.ts";
import { newSetup } from "../setup/new-setup.ts";
import { sealRelays } from "../relays/session-relays.ts";
import { stepOf } from "../states/states.ts";
import type { Steps } from "../steps/steps.ts";
import { claimVolumes } from "../volumes/claim-volumes.ts";
import { applyTransition, type Recorder } from "../states/transitions.ts";

export interface ReserveDeps {
  store: Store;
  site: Site;
  secrets: Secrets;
  clock: Clock;
  capacity: Capacity;
  rules: { timeoutAction: TimeoutAction };
  lease(): Lease;
}

// The parameters of a create.
export interface Wanted {
  kind: Kind;
  partner: PartnerLimits;
  request: CreateRequest;
  record?: Recorder | undefined;
  span?: Span | undefined;
}

// How many warm sandboxes a create has to leave to other partners.
export interface Share {
  keep(): number;
}

export interface Reserved {
  session: SessionInStep;
  // The session without the step, if the pool has prepared its sandbox so far that there was nothing left to do.
  created: Session | null;
}

// Reserves a session in the step `creating`: with a warm sandbox of the pool if there is one, else with a new row whose
// sandbox is still to be created. The same transaction counts the quotas.
export const reserve = (deps: ClaimDeps, wanted: Wanted, share: Share) => reserveOr(insertNew, deps, wanted, share);

// The same from the pool only.
export const reserveWarm = (deps: ClaimDeps, wanted: Wanted, share: Share) =>
  reserveOr(() => Promise.reject(new AppError("capacity_reached")), deps, wanted, share);

type ClaimDeps = ReserveDeps & { steps: Pick<Steps, "leaveIn"> };

async function reserveOr(otherwise: typeof insertNew, deps: ClaimDeps, wanted: Wanted, share: Share): Promise<Reserved> {
  const { store, steps } = deps;
  const reserved = await store.transaction(async (tx) => {
    await checkQuota(tx, store, wanted);
    const claimed = await claim(deps, tx, wanted, share);
    if (!claimed) return { session: await otherwise(deps, tx, wanted), created: null };
    return { session: claimed, created: await steps.leaveIn(tx, { session: claimed, record: wanted.record }) };
  }, syncOf(deps));
  if (reserved.created) await store.sync();
  return reserved;
}

// The same without the pool.
export async function reserveNew(deps: ReserveDeps, wanted: Wanted): Promise<SessionInStep> {
  return deps.store.transaction(async (tx) => {
    await checkQuota(tx, deps.store, wanted);
    return insertNew(deps, tx, wanted);
  }, syncOf(deps));
}

// A power cut that loses a reservation on this machine also ends its sandbox, so nothing of the partner's is left in a sandbox
// that counts as blank.
const syncOf = ({ site }: ReserveDeps): { sync: Sync } => ({ sync: site.host === null ? "now" : "later" });

export interface Swapped {
  claimed: SessionInStep;
  // The session that was given up. It no longer belongs to a partner and is in the step `discarding`.
  discarded: SessionInStep;
}

// Gives up the session of a create that still waits for its sandbox, and claims a warm one instead: both or neither. null if
// there is no warm one, or if the session has changed.
export async function swapForWarm(deps: ReserveDeps, wanted: Wanted, waiting: SessionInStep, share: Share): Promise<Swapped | null> {
  const { store, clock } = deps;
  // Most attempts find nothing, and need no transaction for that.
  if (!(await hasWarm(store.db, poolOf(deps, wanted.kind), share.keep()))) return null;
  try {
    return await store.transaction(async (tx) => {
      const discarded = await applyTransition(tx, waiting, "swap", { changes: { owner: null }, lease: deps.lease(), nowMs: clock.now() });
      const claimed = discarded && (await claim(deps, tx, wanted, share));
      if (!claimed) throw new NothingToSwap();
      return { claimed, discarded: inStep(discarded) };
    });
  } catch (error) {
    if (error instanceof NothingToSwap) return null;
    throw error;
  }
}

// Rolls the transaction back.
class NothingToSwap extends Error {}

async function claim(deps: ReserveDeps, tx: Db, wanted: Wanted, share: Share): Promise<SessionInStep | null> {
  const nowMs = deps.clock.now();
  const keep = share.keep();
  if (keep > 0 && !(await hasWarm(tx, poolOf(deps, wanted.kind), keep))) return null;
  const claimed = await claimWarm(tx, deps.store.engine, poolOf(deps, wanted.kind), {
    id: newId("ses", nowMs),
    to: stepOf("claim", "warm"),
    lease: deps.lease(),
    nowMs,
    owner: ownerOf(deps, wanted),
    seal: (sandboxId) => seal(deps, wanted, sandboxId),
  });
  return claimed && inStep(claimed);
}

async function insertNew(deps: ReserveDeps, tx: Db, wanted: Wanted): Promise<SessionInStep> {
  await deps.capacity.admit(tx);
  const blank = newBlank(deps, wanted.kind, stepOf("create", "absent"));
  const mounts = wanted.kind.template.volumes ?? [];
  const volumes = await claimVolumes(tx, { partnerId: wanted.partner.id, sessionId: blank.id, site: deps.site, mounts });
  const owner = { ...ownerOf(deps, wanted), ...seal(deps, wanted, blank.sandboxId), volumes };
  return inStep(await insertSession(tx, { ...blank, owner }));
}

// A row that no partner owns.
export function newBlank(
  { site, secrets, clock, lease }: Pick<ReserveDeps, "site" | "secrets" | "clock" | "lease">,
  kind: Kind,
  step: Step,
): NewSession {
  const nowMs = clock.now();
  const sandboxId = newId("sbx", nowMs);
  return {
    id: newId("ses", nowMs),
    sandboxId,
    state: step,
    lease: lease(),
    template: kind.template.name,
    templateHash: kind.templateHash,
    site,
    sealedToken: secrets.seal(newToken(), sandboxId),
    owner: null,
    nowMs,
  };
}

export function inStep(session: Session | "deleted"): SessionInStep {
  if (session === "deleted" || !isInStep(session)) throw new Error("The session is in no step");
  return session;
}

const poolOf = ({ site }: ReserveDeps, { template, templateHash }: Kind) => ({ template: template.name, templateHash, site });

// A rule that the request does not name is that of the template, of the partner, or of the server.
const ownerOf = ({ rules, clock }: ReserveDeps, { kind: { template }, partner, request }: Wanted): Omit<NewOwner, keyof SealedValues> => ({
  partnerId: partner.id,
  externalUserId: request.externalUserId,
  metadata: request.metadata,
  autoStartAgent: request.autoStartAgent,
  timeoutMs: request.timeoutMs,
  idleTimeoutMs: request.idleTimeoutMs === undefined ? (template.idleTimeoutMs ?? partner.idleTimeoutMs) : request.idleTimeoutMs,
  autoResume: request.autoResume ?? template.autoResume ?? partner.autoResume ?? false,
  onTimeout: request.onTimeout ?? template.onTimeout ?? partner.onTimeout ?? rules.timeoutAction,
  maxTimeoutMs: template.maxTimeoutMs ?? partner.maxTimeoutMs ?? null,
  resources: request.resources ?? null,
  egress: request.egress ?? null,
  // A sandbox of the pool has none.
  volumes: null,
  ...setupOf(template, request, clock.now()),
});

function setupOf(template: Template, request: CreateRequest, nowMs: number): Pick<NewOwner, "setup" | "setupState"> {
  const { setup, setupState } = newSetup(request, template, nowMs);
  return { setup, setupState };
}

function seal({ secrets, clock }: ReserveDeps, { kind, request }: Wanted, sandboxId: SandboxId): SealedValues {
  const hasEnv = Object.keys(request.envVars).length > 0;
  return {
    sealedEnv: hasEnv ? secrets.seal(JSON.stringify(request.envVars), sandboxId) : null,
    sealedRelays: sealRelays(secrets, newSetup(request, kind.template, clock.now()).relays, sandboxId),
  };
}

async function checkQuota(tx: Db, store: Store, { partner, request }: Wanted): Promise<void> {
  const { id: partnerId, maxSessions, maxSessionsPerUser } = partner;
  const { externalUserId } = request;
  if (maxSessions === null && maxSessionsPerUser === null) return;
  if (store.engine === "postgres") await lockPartner(tx, partnerId);
  if (maxSessions !== null && (await countLive(tx, { partnerId })) >= maxSessions)
    throw new AppError("session_quota", { message: `The limit of ${maxSessions} live sessions is reached` });
  if (maxSessionsPerUser !== null && (await countLive(tx, { partnerId, externalUserId })) >= maxSessionsPerUser)
    throw new AppError("session_quota", { message: `The limit of ${maxSessionsPerUser} live sessions for this user is reached` });
}
