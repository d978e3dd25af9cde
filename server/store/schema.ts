import type { ColumnType, Generated, Kysely } from "kysely";
import type { SandboxId, SessionId } from "@berth/contract";
import type { SessionState } from "../sessions/states.ts";

// The tables. Times are UTC milliseconds, flags are 0 or 1, JSON is text: the same values on SQLite and PostgreSQL.
// A transaction is a Db too, so every function of the store takes one.
export type Db = Kysely<Tables>;

export interface Tables {
  partners: PartnersTable;
  keys: KeysTable;
  sessions: SessionsTable;
  events: EventsTable;
  idempotency: IdempotencyTable;
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
  // The order of events. On PostgreSQL numbers may become visible out of order; store/events.ts deals with that.
  seq: ColumnType<number, never, never> | Generated<number>;
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
  body: string | null;
  lease_until: number;
  created_at: number;
  expires_at: number;
}
