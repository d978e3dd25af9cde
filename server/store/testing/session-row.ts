import { newId } from "@berth/contract";
import type { Db } from "../schema.ts";
import type { SessionRow } from "../sessions/parse-session.ts";

// Writes a row as it is, past the table of states.
export async function insertSessionRow(db: Db, row: SessionRow): Promise<SessionRow> {
  return db.insertInto("sessions").values(row).returningAll().executeTakeFirstOrThrow();
}

// The row of a running session of the partner `acme`. A test overrides only the columns that matter to it.
export function sessionRow(nowMs: number, overrides: Partial<SessionRow> = {}): SessionRow {
  return {
    id: newId("ses", nowMs),
    sandbox_id: newId("sbx", nowMs),
    partner_id: "acme",
    external_user_id: "u",
    state: "running",
    generation: 1,
    lease_owner: null,
    lease_until: null,
    template: "default",
    template_hash: "",
    driver: "process",
    host: null,
    env: null,
    token: "",
    relays: null,
    metadata: "{}",
    auto_start_agent: 1,
    timeout_ms: 60_000,
    expires_at: nowMs + 60_000,
    warned: 0,
    idle_timeout_ms: null,
    idle_at: null,
    idle_look_at: null,
    auto_resume: 0,
    on_timeout: null,
    max_timeout_ms: null,
    extend_until: null,
    resources: null,
    egress: null,
    limits_version: 0,
    egress_closed_version: 0,
    volumes: null,
    paused_at: null,
    hibernated: 0,
    stop_reason: null,
    created_at: nowMs,
    updated_at: nowMs,
    destroyed_at: null,
    setup: null,
    setup_state: null,
    counted_from: null,
    ...overrides,
  };
}

// Has the largest size that a session's metadata may have.
export const LARGE_METADATA = JSON.stringify(
  Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`key-${i}`, i === 0 ? "x".repeat(512) : "\u0001".repeat(512)])),
);
