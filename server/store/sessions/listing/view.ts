import type { SandboxId, SessionId, SessionStatus } from "@berth/contract";
import { prepareFirst } from "../../engines/prepared.ts";
import type { SessionRow } from "../parse-session.ts";
import { parseRules, RULE_COLUMNS, rulesOf, type SessionRules } from "../rules.ts";
import { parseSetup, type SessionSetup } from "../session-setup.ts";
import { isPartnerSession, statusOf, type Session, type SessionState } from "../session.ts";

// A session as the rest of the server may see it: no token, no environment.
export interface SessionView extends SessionRules {
  id: SessionId;
  sandboxId: SandboxId;
  partnerId: string;
  externalUserId: string;
  status: SessionStatus;
  state: SessionState;
  generation: number;
  template: string;
  // The machine of a host-bound sandbox.
  host: string | null;
  // A JSON object of strings, as it is stored: a list of large ones is passed on without being parsed.
  metadataJson: string;
  timeoutMs: number;
  expiresAt: number | null;
  idleTimeoutMs: number | null;
  // When the session is idle if nothing happens; null unless it is running and has an idle timeout.
  idleAt: number | null;
  // Until when people may extend the session; null unless it is running and they may.
  extendUntil: number | null;
  setup: SessionSetup | null;
  stopReason: string | null;
  createdAt: number;
  updatedAt: number;
}

// null when no partner knows the session yet.
export function viewOf(session: Session): SessionView | null {
  const status = statusOf(session);
  if (status === null || !isPartnerSession(session)) return null;
  return {
    id: session.id,
    sandboxId: session.sandboxId,
    partnerId: session.partnerId,
    externalUserId: session.externalUserId,
    status,
    state: session.state,
    generation: session.generation,
    template: session.template,
    host: session.site.host,
    metadataJson: session.metadataJson,
    timeoutMs: session.timeoutMs,
    expiresAt: "expiresAtMs" in session ? session.expiresAtMs : null,
    idleTimeoutMs: session.idleTimeoutMs,
    idleAt: "idleAtMs" in session ? session.idleAtMs : null,
    extendUntil: "extendUntilMs" in session ? session.extendUntilMs : null,
    ...rulesOf(session),
    setup: session.setup,
    stopReason: session.stopReason,
    createdAt: session.createdAtMs,
    updatedAt: session.updatedAtMs,
  };
}

// Just the columns of a view: most calls only look at a session, so they read no secrets and parse no lease.
export const VIEW_COLUMNS = [
  "id",
  "sandbox_id",
  "partner_id",
  "external_user_id",
  "state",
  "generation",
  "template",
  "host",
  "metadata",
  "timeout_ms",
  "expires_at",
  "idle_timeout_ms",
  "idle_at",
  "extend_until",
  ...RULE_COLUMNS,
  "setup",
  "paused_at",
  "stop_reason",
  "created_at",
  "updated_at",
] as const satisfies (keyof SessionRow)[];
export type ViewRow = Pick<SessionRow, (typeof VIEW_COLUMNS)[number]>;

export function parseView(row: ViewRow): SessionView | null {
  const status = statusOfRow(row);
  return status === null || row.partner_id === null ? null : { ...parseViewRow(row), status };
}

export const statusOfRow = ({ state, paused_at }: Pick<ViewRow, "state" | "paused_at">): SessionStatus | null =>
  statusOf({ state, was: paused_at === null ? "running" : "paused" });

export const parseViewRow = (row: ViewRow): Omit<SessionView, "status"> => ({
  id: row.id,
  sandboxId: row.sandbox_id,
  partnerId: row.partner_id ?? "",
  externalUserId: row.external_user_id ?? "",
  state: row.state,
  generation: row.generation,
  template: row.template,
  host: row.host,
  metadataJson: row.metadata,
  timeoutMs: row.timeout_ms,
  expiresAt: row.expires_at,
  idleTimeoutMs: row.idle_timeout_ms,
  idleAt: row.idle_at,
  extendUntil: row.extend_until,
  ...parseRules(row),
  setup: parseSetup(row.setup),
  stopReason: row.stop_reason,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

// undefined or null when no partner knows the session.
export const readView = prepareFirst(
  (db) => db.selectFrom("sessions").select(VIEW_COLUMNS).where("id", "=", "ses_").compile(),
  (row: ViewRow) => parseView(row),
);

export const readViewBySandbox = prepareFirst(
  (db) => db.selectFrom("sessions").select(VIEW_COLUMNS).where("sandbox_id", "=", "sbx_").compile(),
  (row: ViewRow) => parseView(row),
);
