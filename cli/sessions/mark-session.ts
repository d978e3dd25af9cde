import { AppError } from "@berth/contract";
import { findSession } from "@berth/server/store/sessions/read.ts";
import { findSessionDetails, type SessionDetails } from "@berth/server/store/sessions/listing/details.ts";
import type { Db } from "@berth/server/store/schema.ts";
import { outcomeOf } from "@berth/server/sessions/states/states.ts";
import { applyTransition } from "@berth/server/sessions/states/transitions.ts";
import type { Context } from "../context.ts";

// A running server takes over abandoned steps every ten seconds.
export const STEP_WAIT_MS = 30_000;

const ACTIONS = { operator_destroy: "session.destroy", operator_wake: "session.wake" };

// Moves the session to the step of the trigger, with an expired lease. The server that holds the sandbox takes it over and does the
// work, now or at its next start. No-op if the session is already there.
export async function markSession({ store, change, clock }: Context, id: string, trigger: keyof typeof ACTIONS): Promise<SessionDetails> {
  for (;;) {
    const details = await getSession(store.db, id);
    const session = await findSession(store.db, details.id);
    const outcome = session && outcomeOf(trigger, session.state);
    if (outcome?.do === "refuse" && outcome.code === "session_busy") throw new AppError("session_busy");
    if (!outcome || outcome.do === "refuse") throw notFound(id);
    if (outcome.do === "answer_unchanged") return details;
    // Expired from the start, so that a server takes the step over.
    const lease = { owner: "cli", untilMs: 0 };
    const isMarked = await change(async (tx, note) => {
      const applied = await applyTransition(tx, session, trigger, { lease, nowMs: clock.now() });
      if (applied) await note(ACTIONS[trigger], details.partnerId, details.id);
      return applied !== null;
    });
    if (isMarked) return getSession(store.db, details.id);
  }
}

export async function getSession(db: Db, id: string): Promise<SessionDetails> {
  const session = await findSessionDetails(db, id);
  if (!session) throw notFound(id);
  return session;
}

const notFound = (id: string) => new AppError("session_not_found", { message: `There is no session ${id}` });
