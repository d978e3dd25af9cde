import { setTimeout as sleep } from "node:timers/promises";
import { MINUTE, SECOND } from "../../clock.ts";
import type { Sessions, SessionView } from "../sessions.ts";

// A connection that is silent for longer is closed by many proxies anyway.
const MAX_WAIT_MS = 10 * MINUTE;
// Another server may work on the session.
const LOOK_MS = 1 * SECOND;

// Resolves when the source of the session is there or has failed, when the session stops running, when the signal aborts, or after
// ten minutes.
export async function awaitSource(sessions: Pick<Sessions, "get" | "onChange">, session: SessionView, signal: AbortSignal): Promise<void> {
  const end = AbortSignal.any([signal, AbortSignal.timeout(MAX_WAIT_MS)]);
  let latest = session;
  let changed = new AbortController();
  using _listener = sessions.onChange((view) => {
    if (view.id === session.id) changed.abort();
  });
  while (latest.status === "running" && latest.setup?.source?.status === "pending" && !end.aborted) {
    await sleep(LOOK_MS, undefined, { signal: AbortSignal.any([end, changed.signal]) }).catch(() => {});
    changed = new AbortController();
    latest = await sessions.get(session.partnerId, session.id);
  }
}
