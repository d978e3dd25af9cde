import { statusOf, type PartnerSession } from "../../store/sessions/session.ts";

// The part that the events of a session have in common.
export const commonEventData = (session: PartnerSession) => ({
  sessionId: session.id,
  sandboxId: session.sandboxId,
  externalUserId: session.externalUserId,
  status: statusOf(session),
  reason: session.stopReason,
  metadata: JSON.parse(session.metadataJson) as Record<string, string>,
});
