import type { SeenRow, SessionRow } from "../store/sessions/sessions.ts";
import type { SessionView } from "./sessions.ts";
import { statusOf } from "./states.ts";

// The row as the rest of the server may see it: no token, no environment. null when there is nothing to see yet.
export function viewOf(row: SeenRow): SessionView | null {
  const status = statusOf(row);
  if (status === null || row.partner_id === null) return null;
  return {
    id: row.id,
    sandboxId: row.sandbox_id,
    partnerId: row.partner_id,
    externalUserId: row.external_user_id ?? "",
    status,
    generation: row.generation,
    template: row.template,
    metadataJson: row.metadata,
    timeoutMs: row.timeout_ms,
    expiresAt: row.expires_at,
    stopReason: row.stop_reason,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

// What an event says about its session.
export function eventData(row: SessionRow) {
  return {
    sessionId: row.id,
    sandboxId: row.sandbox_id,
    externalUserId: row.external_user_id,
    status: statusOf(row),
    reason: row.stop_reason,
    metadata: JSON.parse(row.metadata) as Record<string, string>,
  };
}
