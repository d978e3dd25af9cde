import { ACTIVITY_INTERVAL_MS } from "@berth/contract/workspace/workspace.ts";
import { describeIdlePause, serverNowMs, type SessionState } from "../state/session/session-store.ts";

// The parts of the workspace that this module uses.
export interface IdlePauseDeps {
  session: { store: { getState(): SessionState; subscribe(listener: () => void): () => void } };
  notices: { warn(text: string): number; dismiss(id: number): void };
  api: { reportActivity(): Promise<void> };
}

const INPUT_EVENTS = ["keydown", "pointerdown", "wheel"] as const;
const CHECK_MS = 1000;
// After a report, the server writes within a minute that the session is in use.
const RECORDED_AFTER_MS = 60_000;

// For a session with an idle timeout: tells the server that a person uses the page, and warns before the session is paused. The
// page's own requests do not count as use, so that a forgotten tab does not keep a session running.
export function followIdlePause({ session, notices, api }: IdlePauseDeps, page: EventTarget = window): Disposable {
  let reportedMs = -Infinity;
  let warning: { id: number; atMs: number } | null = null;

  function onInput(): void {
    const isDue = warning !== null || Date.now() - reportedMs >= ACTIVITY_INTERVAL_MS;
    if (!isDue || pauseOf(session.store.getState()) === null) return;
    reportedMs = Date.now();
    check();
    // Without a connection the warning returns.
    api.reportActivity().catch(() => (reportedMs = -Infinity));
  }

  function check(): void {
    const state = session.store.getState();
    const pause = pauseOf(state);
    const isSoon = pause !== null && serverNowMs(state, Date.now()) >= pause.warnAtMs && Date.now() - reportedMs >= RECORDED_AFTER_MS;
    if (warning && (!isSoon || warning.atMs !== pause.atMs)) {
      notices.dismiss(warning.id);
      warning = null;
    }
    const text = isSoon && !warning ? describeIdlePause(state) : null;
    if (pause && text !== null) warning = { id: notices.warn(text), atMs: pause.atMs };
  }

  for (const name of INPUT_EVENTS) page.addEventListener(name, onInput, { capture: true, passive: true });
  const unsubscribe = session.store.subscribe(check);
  const timer = setInterval(check, CHECK_MS);
  check();
  return {
    [Symbol.dispose]() {
      for (const name of INPUT_EVENTS) page.removeEventListener(name, onInput, { capture: true });
      unsubscribe();
      clearInterval(timer);
    },
  };
}

const pauseOf = ({ phase, session }: SessionState) => (phase === "running" ? (session?.idlePause ?? null) : null);
