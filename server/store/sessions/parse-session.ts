import type { Selectable } from "kysely";
import type { SessionsTable } from "../schema.ts";
import { parseRules } from "./rules.ts";
import { parseSetup } from "./session-setup.ts";
import type { Lease, PartnerSession, Session, StopReason } from "./session.ts";

export type SessionRow = Selectable<SessionsTable>;

// The generation that a row is inserted with.
export const FIRST_GENERATION = 1;

// A row that breaks an invariant, because it was edited by hand or the server has a bug.
export interface MalformedRow {
  sessionId: string;
  sandboxId: string;
  problem: string;
}

// For lists of sessions: a malformed row is left out, so that it does not stop the work on all others.
export function parseSessions(rows: readonly SessionRow[], onMalformed: (row: MalformedRow) => void = () => {}): Session[] {
  return rows.flatMap((row) => {
    try {
      return [parseSession(row)];
    } catch (error) {
      onMalformed({ sessionId: row.id, sandboxId: row.sandbox_id, problem: error instanceof Error ? error.message : String(error) });
      return [];
    }
  });
}

// Only this function knows what the columns mean in each state. A row that breaks an invariant is a bug, so it throws.
export function parseSession(row: SessionRow): Session {
  const sandbox = sandboxOf(row);
  switch (row.state) {
    case "warm":
      return { ...sandbox, state: row.state };
    case "warming":
    case "discarding":
      return { ...sandbox, state: row.state, lease: leaseOf(row) };
    default:
      return { ...sandbox, ...ownedOf(row), ...stateOf({ ...row, state: row.state }) } as PartnerSession;
  }
}

type OwnedState = PartnerSession["state"];
type Distribute<T> = T extends PartnerSession ? Omit<T, keyof ReturnType<typeof sandboxOf> | keyof ReturnType<typeof ownedOf>> : never;

function stateOf(row: SessionRow & { state: OwnedState }): Distribute<PartnerSession> {
  switch (row.state) {
    case "creating":
      // A sandbox from the pool has been through `warming` and `warm`, so its row is past the first generation.
      return { state: row.state, sandbox: row.generation > FIRST_GENERATION ? "from_pool" : "to_create", lease: leaseOf(row) };
    case "running":
      return { state: row.state, ...runningOf(row) };
    case "pausing":
    case "thawing":
    case "rebuilding":
      return { state: row.state, ...runningOf(row), lease: leaseOf(row) };
    case "paused":
      return { state: row.state, ...pausedOf(row) };
    case "hibernating":
    case "resuming":
      return { state: row.state, ...pausedOf(row), lease: leaseOf(row) };
    case "destroying": {
      const was = row.paused_at === null ? "running" : "paused";
      return { state: row.state, was, isHibernated: row.hibernated === 1, expiresAtMs: row.expires_at, lease: leaseOf(row) };
    }
    case "destroyed":
      return { state: row.state, destroyedAtMs: required(row, "destroyed_at") };
    default:
      throw new Error(`The row of ${(row as SessionRow).id} has the unknown state ${String((row as SessionRow).state)}`);
  }
}

const sandboxOf = (row: SessionRow) => ({
  id: row.id,
  sandboxId: row.sandbox_id,
  generation: row.generation,
  template: row.template,
  templateHash: row.template_hash,
  site: { driver: row.driver, host: row.host },
  sealedToken: row.token,
  createdAtMs: row.created_at,
  updatedAtMs: row.updated_at,
});

const ownedOf = (row: SessionRow) => ({
  partnerId: required(row, "partner_id"),
  externalUserId: row.external_user_id ?? "",
  metadataJson: row.metadata,
  autoStartAgent: row.auto_start_agent === 1,
  timeoutMs: row.timeout_ms,
  idleTimeoutMs: row.idle_timeout_ms,
  sealedEnv: row.env,
  sealedRelays: row.relays,
  setup: parseSetup(row.setup),
  setupState: row.setup_state,
  stopReason: row.stop_reason as StopReason | null,
  countedFromMs: row.counted_from,
  limitsVersion: row.limits_version,
  egressClosedVersion: row.egress_closed_version,
  ...parseRules(row),
});

const runningOf = (row: SessionRow) => ({
  expiresAtMs: required(row, "expires_at"),
  idleAtMs: row.idle_at,
  extendUntilMs: row.extend_until,
});

const pausedOf = (row: SessionRow) => ({ pausedAtMs: required(row, "paused_at"), isHibernated: row.hibernated === 1 });

const leaseOf = (row: SessionRow): Lease => ({ owner: required(row, "lease_owner"), untilMs: required(row, "lease_until") });

function required<Column extends keyof SessionRow>(row: SessionRow, column: Column): NonNullable<SessionRow[Column]> {
  const value = row[column];
  if (value === null || value === undefined) throw new Error(`The row of ${row.id} is ${row.state} but has no ${column}`);
  return value;
}
