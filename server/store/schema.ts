import type { Generated, Kysely } from "kysely";
import type { SandboxId, SessionId } from "@berth/contract";
import type { SessionState } from "./sessions/session.ts";

// The tables. Times are UTC milliseconds, flags are 0 or 1, JSON is text: the same values on SQLite and PostgreSQL.
// A transaction is a Db too, so every function of the store takes one.
export type Db = Kysely<Tables>;

export interface Tables {
  partners: PartnersTable;
  keys: KeysTable;
  sessions: SessionsTable;
  events: EventsTable;
  idempotency: IdempotencyTable;
  webhook_endpoints: WebhookEndpointsTable;
  webhook_lanes: WebhookLanesTable;
  webhook_deliveries: WebhookDeliveriesTable;
  rate_buckets: RateBucketsTable;
  audit: AuditTable;
  model_usage: ModelUsageTable;
}

export interface PartnersTable {
  // A short name such as "acme": chosen by the operator, shown in launch URLs.
  id: string;
  name: string;
  state: "active" | "suspended";
  // JSON array of origins that may embed the workspace.
  origins: string;
  max_sessions: number | null;
  max_sessions_per_user: number | null;
  // Requests a minute for each key; null is the server's default.
  rate_per_minute: number | null;
  created_at: number;
}

export interface KeysTable {
  id: string;
  partner_id: string;
  // SHA-256 of the whole key, hex. The key itself is nowhere.
  hash: string;
  // First and last characters, for lists.
  hint: string;
  created_at: number;
  last_used_at: number | null;
  expires_at: number | null;
  revoked_at: number | null;
}

export interface SessionsTable {
  id: SessionId;
  sandbox_id: SandboxId;
  // null only while the sandbox waits in the warm pool.
  partner_id: string | null;
  external_user_id: string | null;
  state: SessionState;
  // Goes up by one with every change of state; a late result of an older generation changes nothing.
  generation: number;
  // Who is working on the step under way, and until when it may be taken for alive. null between steps.
  lease_owner: string | null;
  lease_until: number | null;
  template: string;
  // Fingerprint of the template at the time the sandbox was made; the pool is emptied when it differs.
  template_hash: string;
  driver: string;
  // The machine that a host-bound sandbox lives on.
  host: string | null;
  // Sealed (AES-256-GCM): JSON of envVars, and the token of the daemon.
  env: string | null;
  token: string;
  metadata: string;
  auto_start_agent: number;
  timeout_ms: number;
  // When a running session times out; null when it is not running.
  expires_at: number | null;
  // Whether the warning before the timeout was given in this run.
  warned: number;
  paused_at: number | null;
  // Paused and its memory given back.
  hibernated: number;
  // Why it last stopped: api, timeout, retention, sandbox_lost.
  stop_reason: string | null;
  created_at: number;
  updated_at: number;
  destroyed_at: number | null;
}

export interface EventsTable {
  // The order of events within a partner: whoever has seen a number will never meet a smaller one later. On PostgreSQL
  // a trigger (migration 0002) sees to that.
  seq: Generated<number>;
  id: string;
  partner_id: string;
  session_id: string;
  type: string;
  at: number;
  // JSON, as sent to partners in `data`.
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
  // Sealed: an answer may hold a signed URL or a secret.
  body: string | null;
  // The request that works on it, and until when it may be taken for alive.
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
  // JSON array of event types; null is every type.
  types: string | null;
  // A deleted one is shown to nobody; its deliveries are removed bit by bit, and the row after them.
  state: "enabled" | "disabled" | "deleted";
  // Why it is disabled: api, gone (the receiver answered 410), failing (five days of nothing but failures).
  disabled_reason: string | null;
  // Sealed. After a rotation the old one signs too, until its time is over.
  secret: string;
  old_secret: string | null;
  old_secret_until: number | null;
  // Events up to this one have been handed to the lanes.
  cursor_seq: number;
  // Since when every attempt has failed; null after a success.
  failing_since: number | null;
  created_at: number;
  updated_at: number;
}

// One lane for each endpoint and session: deliveries in a lane go out one after another, lanes are independent.
// A lane exists while something in it waits.
export interface WebhookLanesTable {
  endpoint_id: string;
  lane: string;
  // The newest delivery that was put in.
  last_seq: number;
  // Failed attempts of the delivery at the head, and when the next is due.
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
  // The body that is sent, byte for byte.
  payload: string;
  state: "pending" | "delivered" | "failed";
  attempts: number;
  // What the last attempt met: an HTTP status, or a word for what went wrong.
  last_status: number | null;
  last_error: string | null;
  created_at: number;
  finished_at: number | null;
}

// Tokens left for a key, shared by all servers.
export interface RateBucketsTable {
  key_id: string;
  tokens: number;
  // What the last one who asked got.
  granted: number;
  updated_at: number;
}

export interface AuditTable {
  seq: Generated<number>;
  at: number;
  partner_id: string;
  // The key's id, or `cli`, or `server` for what happens by itself.
  actor: string;
  action: string;
  target: string;
  ip: string | null;
  request_id: string | null;
}

export interface ModelUsageTable {
  session_id: string;
  partner_id: string;
  external_user_id: string;
  requests: number;
  input_tokens: number;
  output_tokens: number;
  updated_at: number;
}
