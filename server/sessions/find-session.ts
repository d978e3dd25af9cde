import { AppError, isSessionId } from "@berth/contract";
import type { Db } from "../store/schema.ts";
import { findSession } from "../store/sessions/read.ts";
import { isPartnerSession, type PartnerSession, type Session } from "../store/sessions/session.ts";
import { viewOf, type SessionView } from "../store/sessions/listing/view.ts";

// The session of a partner, in whatever state the partner can see.
export async function findOwnSession(db: Db, partnerId: string, id: string): Promise<PartnerSession> {
  const session = await findSession(db, idOrUnused(id));
  if (!session || !isPartnerSession(session) || session.partnerId !== partnerId || viewOf(session) === null)
    throw new AppError("session_not_found");
  return session;
}

// A malformed id is looked up too, under an id that does not exist, so that every 404 takes the same time.
export const idOrUnused = (id: string) => (isSessionId(id) ? id : UNUSED_ID);
const UNUSED_ID = `ses_${"0".repeat(26)}`;

export function visible(session: Session): SessionView {
  const view = viewOf(session);
  if (view === null) throw new AppError("session_not_found");
  return view;
}
