import type { Generated, Kysely } from "kysely";
import type { KeyScope, SandboxId, SessionId, TimeoutAction } from "@berth/contract";
import type { ConsoleLoginsTable, OperatorTokensTable } from "./tables/console-tables.ts";
import type { RunsTable } from "./tables/run-table.ts";
import type { EgressHostsTable, OpeningsTable } from "./tables/session-log-tables.ts";
import type { SessionTokensTable } from "./tables/session-token-table.ts";
import type { SnapshotsTable } from "./tables/snapshot-table.ts";
import type { SessionState } from "./tables/session-states.ts";
import type { VolumeMountsTable, VolumesTable } from "./tables/volume-tables.ts";
import type { ModelReservationsTable, ModelUsageTable, UsageCountersTable, UsageDaysTable } from "./tables/usage-tables.ts";

// The tables. Times are UTC milliseconds, flags are 0 or 1, JSON is text, so that SQLite and PostgreSQL hold the same values.
// A transaction is a Db too, so every function of the store works inside one.
export type Db = Kysely<Tables>;

export interface Tables {
  partners: PartnersTable;
  keys: KeysTable;
  sessions: SessionsTable;
  snapshots: SnapshotsTable;
  runs: RunsTable;
  session_tokens: SessionTokensTable;
  events: EventsTable;
  idempotency: IdempotencyTable;
  webhook_endpoints: WebhookEndpointsTable;
  webhook_lanes: WebhookLanesTable;
  webhook_deliveries: WebhookDeliveriesTable;
  rate_buckets: RateBucketsTable;
  audit: AuditTable;
  model_usage: ModelUsageTable;
  model_reservations: ModelReservationsTable;
  usage_days: UsageDaysTable;
  usage_counters: UsageCountersTable;
  user_settings: UserSettingsTable;
  servers: ServersTable;
  facts: FactsTable;
  quarantine: QuarantineTable;
  operator_tokens: OperatorTokensTable;
  console_logins: ConsoleLoginsTable;
  openings: OpeningsTable;
  egress_hosts: EgressHostsTable;
  volumes: VolumesTable;
  volume_mounts: VolumeMountsTable;
}

export interface PartnersTable {
  // A short name such as "acme": chosen by the operator, shown in launch URLs.
  id: string;
  name: string;
  state: "active" | "suspended";
  // JSON array of origins that may embed the workspace.
  origins: string;
  // JSON of Branding.
  branding: string;
  max_sessions: number | null;
  max_sessions_per_user: number | null;
  // Requests a minute for each key; null is the server's default.
  rate_per_minute: number | null;
  // The idle timeout of sessions that name none, and whose template names none; null is none.
  idle_timeout_ms: number | null;
  // The same for these rules of a session; null is none. `auto_resume` is a flag.
  auto_resume: number | null;
  on_timeout: TimeoutAction | null;
  max_timeout_ms: number | null;
  // Whether the operator's support may look at workspaces.
  support_access: Generated<number>;
  created_at: number;
}

export interface KeysTable {
  id: string;
  partner_id: string;
  // SHA-256 of the whole key, hex. The key itself is not stored.
  hash: string;
  // First and last characters, for lists.
  hint: string;
  name: string;
  scope: KeyScope;
  created_at: number;
  last_used_at: number | null;
  expires_at: number | null;
  // How long it was to last when it was issued. null: it does not expire. A rotation shortens `expires_at`, but not this.
  lifetime_ms: number | null;
  revoked_at: number | null;
}

export interface SessionsTable {
  id: SessionId;
  sandbox_id: SandboxId;
  // null for a sandbox of the warm pool.
  partner_id: string | null;
  external_user_id: string | null;
  state: SessionState;
  // Goes up by one with every transition; the result of an older generation is stale and changes nothing.
  generation: number;
  // The server that works on the current step, and until when it counts as alive. null between steps.
  lease_owner: string | null;
  lease_until: number | null;
  template: string;
  // Fingerprint of the template when the sandbox was created. The pool evicts sandboxes with another one.
  template_hash: string;
  driver: string;
  // The machine of a host-bound sandbox.
  host: string | null;
  // Sealed (AES-256-GCM): JSON of envVars, and the token of the daemon.
  env: string | null;
  token: string;
  // Sealed: JSON of the relays with their secrets; null without relays.
  relays: string | null;
  metadata: string;
  auto_start_agent: number;
  timeout_ms: number;
  // When a running session times out; otherwise null.
  expires_at: number | null;
  // Whether the partner has been warned of the timeout since the last create or resume.
  warned: number;
  // null: the session is not paused when it is idle.
  idle_timeout_ms: number | null;
  // When a running session is idle if nothing happens, and when to look next whether it is; otherwise null.
  idle_at: number | null;
  idle_look_at: number | null;
  auto_resume: Generated<number>;
  // null in rows that are older than this column.
  on_timeout: TimeoutAction | null;
  // How long people may keep the session running, and until when; null if they cannot extend it beyond `expires_at`.
  max_timeout_ms: number | null;
  extend_until: number | null;
  // JSON of the values that a create named or a change set; null for those of the template.
  resources: string | null;
  egress: string | null;
  // Goes up by one with every change of `resources` or `egress` after the create.
  limits_version: Generated<number>;
  // The last of these changes that closed open connections.
  egress_closed_version: Generated<number>;
  // JSON of MountedVolume[]; null without volumes.
  volumes: string | null;
  paused_at: number | null;
  // 1 if the session is paused and its sandbox gave its memory back.
  hibernated: number;
  // Why it last stopped: api, timeout, idle, retention, sandbox_lost, disk_full, disk_failed.
  stop_reason: string | null;
  created_at: number;
  updated_at: number;
  destroyed_at: number | null;
  // JSON of SessionSetup (sessions/session-setup.ts); null without a source, a command and relays.
  setup: string | null;
  // The part of the setup that is left: source or command. null when nothing is left.
  setup_state: "source" | "command" | null;
  // Since when its current kind of time (running, paused or hibernated) is counted. null if no time is counted.
  counted_from: number | null;
}

export interface EventsTable {
  // Orders the events of a partner: a reader that has seen a number never sees a smaller one later. On PostgreSQL a trigger
  // (migration 0002) ensures that.
  seq: Generated<number>;
  id: string;
  partner_id: string;
  session_id: string;
  type: string;
  at: number;
  // JSON, sent to partners as `data`.
  data: string;
}

export interface IdempotencyTable {
  partner_id: string;
  // SHA-256 of method, path and Idempotency-Key.
  scope: string;
  // SHA-256 of the request body.
  fingerprint: string;
  // null while the first request is in flight.
  status: number | null;
  // Sealed, because a response may hold a signed URL or a secret.
  body: string | null;
  // The request in flight, and until when it counts as alive.
  owner: string;
  lease_until: number;
  created_at: number;
  expires_at: number;
}

export interface WebhookEndpointsTable {
  id: string;
  partner_id: string;
  url: string;
  description: string;
  // JSON array of event types; null means every type.
  types: string | null;
  // A deleted endpoint is invisible. Its deliveries are removed in batches, and then the row.
  state: "enabled" | "disabled" | "deleted";
  // Why it is disabled: api, gone (the receiver answered 410), failing (five days of nothing but failures).
  disabled_reason: string | null;
  // Sealed. After a rotation the old secret signs too, until `old_secret_until`.
  secret: string;
  old_secret: string | null;
  old_secret_until: number | null;
  // Events up to this one are in the lanes.
  cursor_seq: number;
  // When the current series of failed attempts started; null after a success.
  failing_since: number | null;
  created_at: number;
  updated_at: number;
}

// One lane per endpoint and session: deliveries of a lane are sent one after another, and lanes are independent. A lane exists
// only while it has pending deliveries.
export interface WebhookLanesTable {
  endpoint_id: string;
  lane: string;
  // The newest delivery of the lane.
  last_seq: number;
  // Failed attempts of the first delivery, and when the next attempt is due.
  attempt: number;
  next_at: number;
  lease_owner: string | null;
  lease_until: number;
}

export interface WebhookDeliveriesTable {
  id: string;
  endpoint_id: string;
  lane: string;
  seq: number;
  event_id: string;
  type: string;
  // The body as it is sent.
  payload: string;
  state: "pending" | "delivered" | "failed";
  attempts: number;
  // The result of the last attempt: an HTTP status, or a word for the failure.
  last_status: number | null;
  last_error: string | null;
  created_at: number;
  finished_at: number | null;
}

// Rate limit tokens left for a key, shared by all servers.
export interface RateBucketsTable {
  key_id: string;
  tokens: number;
  // How many tokens the last request got.
  granted: number;
  updated_at: number;
}

export interface AuditTable {
  seq: Generated<number>;
  at: number;
  partner_id: string;
  // The id of the API key or operator token, or `cli`, or `server` for actions of the server itself.
  actor: string;
  action: string;
  target: string;
  ip: string | null;
  request_id: string | null;
}

// The settings of the workspace that one user of a partner has chosen.
export interface UserSettingsTable {
  partner_id: string;
  external_user_id: string;
  // JSON object.
  settings: string;
  // Goes up by one with every write.
  version: number;
  // When they were last written or read, to the day.
  used_at: number;
}

// Files without a row of their own (quarantine.ts).
export interface QuarantineTable {
  kind: "sandbox" | "snapshot" | "volume";
  id: string;
  driver: string;
  host: string | null;
  session: string | null;
  found_at: number;
  delete_at: number;
}

// Facts about the installation (facts.ts).
export interface FactsTable {
  name: string;
  value: string;
}

// The servers whose sandboxes are bound to their machine. PostgreSQL only.
export interface ServersTable {
  host: string;
  base_url: string;
  // Renewed every minute.
  seen_at: number;
}
