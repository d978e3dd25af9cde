import { sql, type Updateable } from "kysely";
import type { EgressPolicy, Resources, TimeoutAction } from "@berth/contract";
import type { SessionsTable } from "../schema.ts";
import { idleColumns } from "./idle.ts";
import { ruleColumns, type SessionRules } from "./rules.ts";
import { setupColumns, type SessionSetup, type SetupState } from "./session-setup.ts";
import type { Lease, StopReason } from "./session.ts";

// Which columns of a session's row have what write.ts writes.

export type SessionColumns = Updateable<SessionsTable>;

// The partner's part of a row, written with a create.
export interface NewOwner extends SessionRules {
  partnerId: string;
  externalUserId: string;
  metadata: Record<string, string>;
  autoStartAgent: boolean;
  timeoutMs: number;
  idleTimeoutMs: number | null;
  setup: SessionSetup | null;
  setupState: SetupState | null;
  sealedEnv: string | null;
  sealedRelays: string | null;
}

// The columns that may change besides state and generation. `null` clears a column.
export interface SessionChanges {
  lease?: Lease | null;
  stopReason?: StopReason | null;
  autoStartAgent?: boolean;
  timeoutMs?: number;
  idleTimeoutMs?: number | null;
  idleAtMs?: number | null;
  idleLookAtMs?: number | null;
  autoResume?: boolean;
  onTimeout?: TimeoutAction;
  extendUntilMs?: number | null;
  metadata?: Record<string, string>;
  resources?: Resources | null;
  egress?: EgressPolicy | null;
  // Written with `resources` and `egress`.
  limitsVersion?: number;
  egressClosedVersion?: number;
  // Counts all timeouts from a time, as the row has them when it is written. A session with a shorter timeout than `warningMs` is not
  // warned.
  timeoutsFrom?: { startMs: number; warningMs: number };
  expiresAtMs?: number | null;
  isWarned?: boolean;
  pausedAtMs?: number | null;
  isHibernated?: boolean;
  destroyedAtMs?: number;
  updatedAtMs?: number;
  countedFromMs?: number | null;
  setup?: SessionSetup;
  setupState?: SetupState | null;
  sealedRelays?: string;
  // The row no longer belongs to a partner.
  owner?: null;
  // The environment variables, the relays and the daemon's token are forgotten.
  secrets?: null;
}

export function columnsOf(changes: SessionChanges): SessionColumns {
  const { lease, metadata, resources, egress, owner, secrets } = changes;
  return {
    ...(lease !== undefined && leaseColumns(lease)),
    ...(metadata !== undefined && { metadata: JSON.stringify(metadata) }),
    ...(resources !== undefined && { resources: resources && JSON.stringify(resources) }),
    ...(egress !== undefined && { egress: egress && JSON.stringify(egress) }),
    ...(owner === null && { partner_id: null, external_user_id: null, env: null, volumes: null, ...setupColumns(null), relays: null }),
    ...(secrets === null && { env: null, relays: null, setup_state: null, token: "" }),
    ...defined({
      stop_reason: changes.stopReason,
      auto_start_agent: flag(changes.autoStartAgent),
      timeout_ms: changes.timeoutMs,
      idle_timeout_ms: changes.idleTimeoutMs,
      idle_at: changes.idleAtMs,
      idle_look_at: changes.idleLookAtMs,
      auto_resume: flag(changes.autoResume),
      on_timeout: changes.onTimeout,
      extend_until: changes.extendUntilMs,
      expires_at: changes.expiresAtMs,
      warned: flag(changes.isWarned),
      paused_at: changes.pausedAtMs,
      hibernated: flag(changes.isHibernated),
      destroyed_at: changes.destroyedAtMs,
      updated_at: changes.updatedAtMs,
      counted_from: changes.countedFromMs,
      setup: changes.setup && JSON.stringify(changes.setup),
      setup_state: changes.setupState,
      relays: changes.sealedRelays,
      limits_version: changes.limitsVersion,
      egress_closed_version: changes.egressClosedVersion,
    }),
  };
}

export const timeoutColumns = ({ startMs, warningMs }: NonNullable<SessionChanges["timeoutsFrom"]>) => ({
  expires_at: sql<number>`timeout_ms + cast(${startMs} as bigint)`,
  extend_until: sql<number>`max_timeout_ms + cast(${startMs} as bigint)`,
  ...idleColumns(startMs),
  warned: sql<number>`case when timeout_ms <= ${warningMs} then 1 else 0 end`,
});

export const leaseColumns = (lease: Lease | null) => ({ lease_owner: lease?.owner ?? null, lease_until: lease?.untilMs ?? null });

export const ownerColumns = (owner: NewOwner) => ({
  partner_id: owner.partnerId,
  external_user_id: owner.externalUserId,
  metadata: JSON.stringify(owner.metadata),
  auto_start_agent: owner.autoStartAgent ? 1 : 0,
  timeout_ms: owner.timeoutMs,
  idle_timeout_ms: owner.idleTimeoutMs,
  ...ruleColumns(owner),
  env: owner.sealedEnv,
  relays: owner.sealedRelays,
  ...setupColumns(owner),
});

const flag = (value: boolean | undefined) => (value === undefined ? undefined : value ? 1 : 0);

const defined = <T extends object>(columns: T) =>
  Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>;
  };
