import { setTimeout as delay } from "node:timers/promises";
import { AppError, isAppError, type SandboxId } from "@berth/contract";
import { Cancellation, type CancelSignal } from "../../bounded-io/cancellation.ts";
import { SECOND } from "../../clock.ts";
import type { DaemonLinks, LinkResponse } from "../../daemon-link/daemon-links.ts";
import { holdPoint } from "../../faults/hold-points.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import { notRunningError, type CachedSession, type SessionCache } from "../access/session-cache.ts";

export interface SessionLinks extends Links {
  // Why the session of this sandbox does not run, when the step under way is over. null: it runs.
  whyStopped(sandboxId: SandboxId): Promise<AppError | null>;
}

type Links = Pick<DaemonLinks, "request" | "upgrade">;

export interface SessionLinksDeps {
  links: Links;
  sessionCache: Pick<SessionCache, "get" | "getFresh">;
  sessions: Pick<Sessions, "onChange">;
}

const POLL_MS = 25;
const STEP_WAIT_MS = 30 * SECOND;
const MEANWHILE = "The session was paused or restarted during the request";

// The daemon links for calls that need a running session. A call that a pause or a destroy overtakes fails as if it had come later, with
// `session_paused` or `session_not_found`.
export function createSessionLinks({ links, sessionCache, sessions }: SessionLinksDeps): SessionLinks & Disposable {
  const waiting = new Map<SandboxId, Set<Stop>>();

  // A frozen daemon answers nothing, and what was read about the session before the call may be older than the pause.
  async function stopIfNotRunning(sandboxId: SandboxId): Promise<CachedSession | null> {
    const cached = await sessionCache.get(sandboxId);
    // A session that was just resumed may still be paused in the cache.
    const notRunning = notRunningError(cached) && notRunningError(await sessionCache.getFresh(sandboxId));
    if (notRunning) for (const stop of waiting.get(sandboxId) ?? []) stop.abort(notRunning);
    return cached;
  }

  const changes = sessions.onChange(({ sandboxId }) => {
    if (waiting.has(sandboxId)) stopIfNotRunning(sandboxId).catch(() => {});
  });

  async function whileRunning<Answer>(
    sandboxId: SandboxId,
    signal: CancelSignal | undefined,
    stop: Stop,
    send: () => Promise<Answer>,
  ): Promise<Answer> {
    const hold = holdPoint(sandboxId, "request.begun");
    if (hold) await hold;
    const siblings = waiting.get(sandboxId) ?? new Set();
    waiting.set(sandboxId, siblings.add(stop));
    const onAbort = () => stop.abort(signal?.reason);
    // Stays for as long as the response is read: the caller's signal also ends its body.
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
    const sending = send();
    const reading = stopIfNotRunning(sandboxId).catch(() => null);
    try {
      return await sending;
    } catch (error) {
      if (!isAppError(error, "sandbox_unreachable") && !isAppError(error, "session_paused")) throw error;
      throw await overtakenError(sandboxId, await reading, error);
    } finally {
      siblings.delete(stop);
      if (siblings.size === 0 && waiting.get(sandboxId) === siblings) waiting.delete(sandboxId);
    }
  }

  // If the session was paused or destroyed in the meantime, perhaps by another server, that is the reason for the failure.
  async function overtakenError(sandboxId: SandboxId, before: CachedSession | null, error: AppError): Promise<AppError> {
    const now = await readAfterStep(sandboxId);
    const notRunning = notRunningError(now, error);
    if (notRunning) return notRunning;
    const isSame = before?.session.generation === now?.session.generation;
    return isSame ? error : new AppError("session_paused", { message: MEANWHILE, cause: error });
  }

  async function readAfterStep(sandboxId: SandboxId): Promise<CachedSession | null> {
    for (const endMs = performance.now() + STEP_WAIT_MS; ; await delay(POLL_MS)) {
      const cached = await sessionCache.getFresh(sandboxId);
      const isStopping = cached?.session.state === "pausing" || cached?.session.state === "rebuilding";
      if (!isStopping || performance.now() > endMs) return cached;
    }
  }

  return {
    request(sandboxId, request) {
      const stop = new Cancellation();
      return whileRunning(sandboxId, request.signal, stop, async () => {
        const response = await links.request(sandboxId, { ...request, signal: stop });
        if (!isRefusedBeforePause(response)) return response;
        response.body.destroy();
        throw new AppError("session_paused");
      });
    },
    upgrade(sandboxId, upgrade) {
      const stop = new AbortController();
      return whileRunning(sandboxId, upgrade.signal, stop, () => links.upgrade(sandboxId, { ...upgrade, signal: stop.signal }));
    },
    whyStopped: async (sandboxId) => notRunningError(await readAfterStep(sandboxId)),
    [Symbol.dispose]: () => changes[Symbol.dispose](),
  };
}

// The daemon knows that its sandbox is about to be frozen.
const isRefusedBeforePause = ({ status, headers }: LinkResponse) => status === 409 && headers["x-error-code"] === "session_paused";

// Ends one of the calls that are under way.
interface Stop {
  abort(reason: unknown): void;
}
