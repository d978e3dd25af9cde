import { AppError, isSandboxId } from "@berth/contract";
import { createLoopTurns } from "../event-loop/loop-turns.ts";
import { listSessions } from "../store/sessions/listing/list.ts";
import { readView, readViewBySandbox } from "../store/sessions/listing/view.ts";
import { createChangeCalls, type ChangeCallsDeps } from "./calls/change-calls.ts";
import { createCreateCall, type CreateCallDeps } from "./calls/create-call.ts";
import { idOrUnused } from "./find-session.ts";
import { createStepCalls, type StepCallsDeps } from "./calls/step-calls.ts";
import type { Changes } from "./changes.ts";
import type { Sessions, SessionView } from "./sessions.ts";

export type SessionsDeps = CreateCallDeps & StepCallsDeps & ChangeCallsDeps & { changes: Changes };

// The partner's calls. Each reads the session, asks the table what the call means in its state, and does that.
export function createSessions(deps: SessionsDeps): Sessions {
  const { store, steps, placement, changes } = deps;
  const nextSlice = createLoopTurns();

  function read(partnerId: string, id: string): SessionView | Promise<SessionView> {
    const requireOwn = (view: SessionView | null | undefined): SessionView => {
      if (!view || view.partnerId !== partnerId) throw new AppError("session_not_found");
      return view;
    };
    const found = readView(store, idOrUnused(id));
    return found instanceof Promise ? found.then(requireOwn) : requireOwn(found);
  }

  return {
    create: createCreateCall(deps),
    ...createStepCalls(deps),
    ...createChangeCalls(deps),
    read,
    get: async (partnerId, id) => read(partnerId, id),
    list: (partnerId, filter) => listSessions(store.db, partnerId, filter, nextSlice),
    bySandbox: async (sandboxId) => (isSandboxId(sandboxId) && (await readViewBySandbox(store, sandboxId))) || null,
    onChange: changes.listen,
    async [Symbol.asyncDispose]() {
      await placement[Symbol.asyncDispose]();
      await steps.idle();
    },
  };
}
