import { setTimeout as delay } from "node:timers/promises";
import { isAppError } from "@berth/contract";
import { SECOND } from "../../clock.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import type { CachedSession } from "./session-cache.ts";

// Resumes a paused session for a caller that opens it, if its partner allows that. The caller's access is checked before. Only these open
// a session: a launch URL, the workspace page when it is loaded or its button is clicked, a call through `sandboxUrl`, and a preview that
// a person opens in a tab. Requests that an open page repeats by itself do not, so that it cannot undo an idle pause.
export type Waker = Pick<Sessions, "wake">;

// Resolves to the session as it is then. Rejects if it cannot be resumed now, or was being paused and may not be resumed.
export async function wake(sessions: Waker, cached: CachedSession): Promise<CachedSession> {
  const { session } = cached;
  // A session that is being paused is paused when the call reaches its sandbox.
  const isStopping = session.state === "pausing" || session.state === "rebuilding";
  if (!isStopping && (session.status !== "paused" || !session.autoResume)) return cached;
  return { ...cached, session: await sessions.wake(session.partnerId, session.id) };
}

// A person does not wait longer for a page; the resume goes on, and the page shows its end.
const PAGE_WAIT_MS = 5 * SECOND;

// For a page. `full`: there is no room. In every other case, the page shows what the session is then.
export async function wakeForPage(sessions: Waker, cached: CachedSession): Promise<CachedSession | "full"> {
  const waiting = new AbortController();
  const timeout = delay(PAGE_WAIT_MS, cached, { signal: waiting.signal }).catch(() => cached);
  const waking = wake(sessions, cached).catch((error: unknown) => (isFull(error) ? "full" : cached));
  return Promise.race([waking, timeout]).finally(() => waiting.abort());
}

const isFull = (error: unknown): boolean => isAppError(error, "capacity_reached") || isAppError(error, "server_disk_full");
