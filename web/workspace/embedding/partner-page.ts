import { EMBED_VERSION, type PageMessage, type WorkspaceEvent } from "@berth/contract/workspace/embed.ts";
import type { WorkspaceSession } from "@berth/contract/workspace/workspace.ts";
import type { SessionState } from "../state/session/session-store.ts";
import type { Session } from "../state/session.ts";
import type { Uses } from "../actions/actions.ts";
import { parsePageMessage } from "./parse-page-message.ts";

type Deps = Uses<"connections" | "embedding" | "openFile" | "preferences"> & { session: Session };

const WARN_MS = 5 * 60_000;

// Reports changes of the session to the partner's page around this one, and follows its commands. Only a page of an origin that
// is registered for the partner is answered.
export function followPartnerPage(deps: Deps): void {
  const { session, embedding } = deps;
  let connectedOrigin: string | null = null;
  let warnedAboutMs: number | null = null;
  let warning: ReturnType<typeof setTimeout> | undefined;

  type Content = WorkspaceEvent extends infer Each ? (Each extends WorkspaceEvent ? Omit<Each, "sessionId"> : never) : never;
  function send(event: Content): void {
    const { session: known } = session.store.getState();
    if (connectedOrigin === null || !known) return;
    parent.postMessage({ berth: EMBED_VERSION, sessionId: known.sessionId, ...event }, connectedOrigin);
  }

  function connect(pageOrigin: string, canResume: boolean): void {
    connectedOrigin = pageOrigin;
    embedding.connected({ canResume, onResumeAsked: () => send({ type: "needs-resume" }) });
    const { phase } = session.store.getState();
    if (phase === "running" || phase === "paused") send({ type: "ready", status: phase });
    if (phase === "destroyed") send({ type: "destroyed" });
    warnInTime();
  }

  function follow(command: PageMessage): void {
    if (command.type === "theme") deps.preferences.showPageTheme(command.theme);
    if (command.type === "resume-done") {
      embedding.resumeEnded();
      deps.connections.retryNow();
    }
    if (command.type === "open-file") deps.openFile(command.path, locationOf(command));
  }

  function report(now: SessionState, before: SessionState): void {
    if (now.phase !== before.phase) {
      if (now.phase === "paused") send({ type: "paused", reason: reasonOf(now.session) });
      if (now.phase === "running") send(before.phase === "paused" ? { type: "resumed" } : { type: "ready", status: "running" });
      if (now.phase === "destroyed") send({ type: "destroyed" });
      embedding.resumeEnded();
    }
    warnInTime();
  }

  // Once per expiry time. An extended session is warned about again.
  function warnInTime(): void {
    clearTimeout(warning);
    const { session: known, skewMs } = session.store.getState();
    const expiresAtMs = known?.expiresAtMs ?? null;
    if (connectedOrigin === null || expiresAtMs === null || expiresAtMs === warnedAboutMs) return;
    const waitMs = expiresAtMs - WARN_MS - (Date.now() + skewMs);
    if (waitMs > 0) {
      // Browsers limit timers to 24 days; the session's state is sent again long before.
      warning = setTimeout(warnInTime, Math.min(waitMs, 0x7fff_ffff));
      return;
    }
    warnedAboutMs = expiresAtMs;
    send({ type: "timeout-warning", expiresAt: new Date(expiresAtMs).toISOString() });
  }

  addEventListener("message", ({ source, origin: pageOrigin, data }: MessageEvent<unknown>) => {
    const allowed = session.store.getState().session?.embedOrigins ?? [];
    if (source !== parent || !allowed.includes(pageOrigin)) return;
    const message = parsePageMessage(data);
    if (message?.type === "connect") connect(pageOrigin, message.canResume);
    else if (message && pageOrigin === connectedOrigin) follow(message);
  });
  session.store.subscribe(report);
  parent.postMessage({ berth: EMBED_VERSION, type: "hello" }, "*");
}

function reasonOf(session: WorkspaceSession | null): "timeout" | "idle" | "failed" | "partner" {
  const reason = session?.reason;
  return reason === "timeout" || reason === "idle" || reason === "failed" ? reason : "partner";
}

const locationOf = ({ line, column = 1 }: { line?: number; column?: number }) => (line === undefined ? undefined : { line, column });
