import { createListeners } from "../listeners.ts";
import type { Session } from "../store/sessions/session.ts";
import { viewOf, type SessionView } from "../store/sessions/listing/view.ts";

// Tells listeners about every change of a session that a partner can see.
export interface Changes {
  announce(session: Session): void;
  listen(listener: (session: SessionView) => void): Disposable;
}

export function createChanges(): Changes {
  const { call, listen } = createListeners<SessionView>();
  return {
    announce(session) {
      const view = viewOf(session);
      if (view !== null) call(view);
    },
    listen,
  };
}
