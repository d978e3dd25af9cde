import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "@berth/contract";
import { SECOND } from "../../clock.ts";
import type { SessionView } from "../sessions.ts";

// Everyone who waits for the same session shares one attempt to resume it. An attempt that failed is not remembered: what it lacked may
// be there at once.
export interface WakeOnceDeps {
  wake(partnerId: string, id: string): Promise<SessionView>;
  // The most that a caller waits. The attempt goes on.
  waitMs?: number;
}

const WAIT_MS = 30 * SECOND;

export function createWakeOnce({ wake, waitMs = WAIT_MS }: WakeOnceDeps): WakeOnceDeps["wake"] {
  const attempts = new Map<string, Promise<SessionView>>();

  function attempt(key: string, partnerId: string, id: string): Promise<SessionView> {
    const begun = wake(partnerId, id).finally(() => attempts.delete(key));
    // The callers may have stopped waiting.
    begun.catch(() => {});
    attempts.set(key, begun);
    return begun;
  }

  return async (partnerId, id) => {
    const key = `${partnerId} ${id}`;
    const waiting = new AbortController();
    const timeout = delay(waitMs, undefined, { signal: waiting.signal }).then(
      () => {
        throw new AppError("session_resuming");
      },
      () => new Promise<never>(() => {}),
    );
    return Promise.race([attempts.get(key) ?? attempt(key, partnerId, id), timeout]).finally(() => waiting.abort());
  };
}
