import type { SandboxId, SessionId, SessionStatus } from "@berth/contract";
import type { SessionState } from "../tables/session-states.ts";
import type { SessionRules } from "./rules.ts";
import type { SessionSetup, SetupState } from "./session-setup.ts";

export { SESSION_STATES, type SessionState } from "../tables/session-states.ts";

// A session as its row says, parsed once (parse-session.ts). Each state has exactly the facts that are true in it.
export type Session = Blank | PartnerSession;

// A sandbox that no partner knows: one of the pool, or the rest of a create that was rolled back.
export type Blank = Sandbox & (In<"warming" | "discarding", Leased> | In<"warm">);

export type PartnerSession = Sandbox &
  Owned &
  (
    | In<"creating", Leased & { sandbox: "to_create" | "from_pool" }>
    | In<"running", Running>
    | In<"pausing" | "thawing" | "rebuilding", Running & Leased>
    | In<"paused", Paused>
    | In<"hibernating" | "resuming", Paused & Leased>
    // `was` is what partners see until the sandbox is gone.
    | In<"destroying", Leased & { was: "running" | "paused"; isHibernated: boolean; expiresAtMs: number | null }>
    | In<"destroyed", { destroyedAtMs: number }>
  );

// One member of the union for each state, so that checking the state narrows it.
type In<State extends SessionState, Facts = unknown> = State extends SessionState ? { state: State } & Facts : never;

// A session in a step: some server holds the lease and works on it, or did until it died.
export type SessionInStep = Extract<Session, Leased>;
export type Step = SessionInStep["state"];

interface Sandbox {
  id: SessionId;
  sandboxId: SandboxId;
  // Goes up by one with every transition. A result that carries an older generation is stale and changes nothing.
  generation: number;
  template: string;
  // Fingerprint of the template when the sandbox was created.
  templateHash: string;
  site: Site;
  // The daemon's token, sealed for this sandbox. Empty once the session is destroyed.
  sealedToken: string;
  createdAtMs: number;
  updatedAtMs: number;
}

interface Owned extends SessionRules {
  // The number of the last change of `resources` or `egress` after the create, and of the last one that closed open connections.
  limitsVersion: number;
  egressClosedVersion: number;
  partnerId: string;
  externalUserId: string;
  // A JSON object of strings, as it is stored.
  metadataJson: string;
  autoStartAgent: boolean;
  timeoutMs: number;
  // null: the session is not paused when it is idle.
  idleTimeoutMs: number | null;
  // JSON of the environment variables, sealed for this sandbox.
  sealedEnv: string | null;
  // JSON of the relays with their secrets, sealed for this sandbox.
  sealedRelays: string | null;
  setup: SessionSetup | null;
  // null: nothing is left of the setup.
  setupState: SetupState | null;
  stopReason: StopReason | null;
  // Since when its current kind of time is counted (store/usage/time.ts). null if no time is counted.
  countedFromMs: number | null;
}

interface Running {
  expiresAtMs: number;
  // When the session is idle if nothing happens; null without an idle timeout.
  idleAtMs: number | null;
  // Until when people may extend the session; null if they may not.
  extendUntilMs: number | null;
}

interface Paused {
  pausedAtMs: number;
  // The sandbox gave its memory back; only its files are left.
  isHibernated: boolean;
}

interface Leased {
  lease: Lease;
}

// The server that works on a step, and when its claim expires.
export interface Lease {
  owner: string;
  untilMs: number;
}

// The driver and, for host-bound ones, the machine whose sandboxes a server acts on.
export interface Site {
  driver: string;
  host: string | null;
}

// Why a session last stopped.
export type StopReason = "api" | "timeout" | "idle" | "retention" | "sandbox_lost" | "disk_full" | "disk_failed";

export const isInStep = (session: Session): session is SessionInStep => "lease" in session;

export const isPartnerSession = (session: Session): session is PartnerSession => "partnerId" in session;

export const isAtSite = ({ site }: { site: Site }, { driver, host }: Site): boolean => site.driver === driver && site.host === host;

// The status that partners see; null if the session is hidden from them. During a step it is the status before the step.
export function statusOf(session: Pick<Session, "state"> & { was?: "running" | "paused" }): SessionStatus | null {
  return session.state === "destroying" ? (session.was ?? "running") : STATUSES[session.state];
}

// The status of each state, also for filters of the list. A session in `destroying` keeps its former status.
export const STATUSES: Record<Exclude<SessionState, "destroying">, SessionStatus | null> = {
  warming: null,
  warm: null,
  creating: null,
  discarding: null,
  running: "running",
  pausing: "running",
  thawing: "running",
  rebuilding: "running",
  paused: "paused",
  hibernating: "paused",
  resuming: "paused",
  destroyed: "destroyed",
};
