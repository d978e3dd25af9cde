import { setTimeout as delay } from "node:timers/promises";
import { AppError, isAppError } from "@berth/contract";
import { SECOND, type Clock } from "../clock.ts";
import type { SessionView } from "./sessions.ts";

// Everyone who waits for the same session shares one attempt to resume it. An attempt that failed because of the engine or for lack of room is not
// repeated for a moment: callers retry, and each attempt costs a transaction.
export interface WakeOnceDeps {
  wake(partnerId: string, id: string): Promise<SessionView>;
  clock: Pick<Clock, "now">;
  // The most that a caller waits. The attempt goes on.
  waitMs?: number;
}

const WAIT_MS = 30 * SECOND;
const FAILURE_MS = 2 * SECOND;
// Failures beyond this many are forgotten early.
const MAX_FAILURES = 1000;

export function createWakeOnce({ wake, clock, waitMs = WAIT_MS }: WakeOnceDeps): WakeOnceDeps["wake"] {
  const attempts = new Map<string, Promise<SessionView>>();
  const failures = new Map<string, { error: unknown; atMs: number }>();

  function attempt(key: string, partnerId: string, id: string): Promise<SessionView> {
    const begun = wake(partnerId, id).finally(() => attempts.delete(key));
    begun.catch((error: unknown) => {
      if (isAppError(error) && error.status < 500) return;
      if (failures.size >= MAX_FAILURES) failures.clear();
      failures.set(key, { error, atMs: clock.now() });
    });
    attempts.set(key, begun);
    return begun;
  }

  return async (partnerId, id) => {
    const key = `${partnerId} ${id}`;
    const failure = failures.get(key);
    if (failure && clock.now() - failure.atMs < FAILURE_MS) throw failure.error;
    failures.delete(key);
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
