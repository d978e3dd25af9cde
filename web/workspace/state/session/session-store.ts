import { createStore } from "zustand/vanilla";
import { MIN_EXTENSION_MS, type WorkspaceSession } from "@berth/contract/workspace/workspace.ts";

// Decides which page is shown.
export type Phase = "connecting" | "running" | "paused" | "destroyed" | "signedOut";

export interface SessionState {
  phase: Phase;
  session: WorkspaceSession | null;
  // The server's clock minus ours.
  skewMs: number;
  // A lost connection reconnects by itself.
  streamLost: boolean;
  eventsLost: boolean;
}

export function createSessionStore(now: () => number = Date.now) {
  const store = createStore<SessionState>(() => ({
    phase: "connecting",
    session: null,
    skewMs: 0,
    streamLost: false,
    eventsLost: false,
  }));
  return {
    store,
    // Ignores a session that is older than the known one.
    update: (session: WorkspaceSession) => {
      const known = store.getState().session;
      if (known && session.generation < known.generation) return;
      store.setState({ session, phase: session.status, skewMs: session.serverNowMs - now(), streamLost: false });
    },
    streamDisconnected: () => store.setState({ streamLost: true }),
    eventsDisconnected: () => store.setState({ eventsLost: true }),
    eventsConnected: () => store.setState({ eventsLost: false }),
    end: (phase: "destroyed" | "signedOut") => store.setState({ phase }),
  };
}

// Support itself needs no notice.
export const isSupportVisiting = ({ session }: SessionState): boolean =>
  session !== null && session.hasSupportVisit && !session.visitor.isSupport;

export const isSshOffered = ({ session }: SessionState): boolean => session?.branding.offerSsh ?? false;

export const isAgentHidden = ({ session }: SessionState): boolean => session?.branding.hideAgent ?? false;

export const isReconnecting = ({ phase, streamLost, eventsLost }: SessionState): boolean =>
  phase === "running" && (streamLost || eventsLost);

// Milliseconds until the session's timeout, by the server's clock.
export const timeLeftMs = ({ session, skewMs }: SessionState, nowMs: number): number | null =>
  session?.expiresAtMs == null ? null : Math.max(0, session.expiresAtMs - (nowMs + skewMs));

// The effect of the timeout, and its time by the browser's clock. null if there is no timeout.
export function describeTimeout({ session, skewMs }: SessionState): string | null {
  if (session?.expiresAtMs == null) return null;
  const time = formatTime(session.expiresAtMs - skewMs);
  if (session.onTimeout === "destroy") return `This session will end at ${time}, and all its files will be deleted. Save what you need.`;
  return (
    `This session will be paused at ${time}. Your files are kept. Programs stop and may have to be started again. ` +
    `After that, ${session.autoResume ? "you" : session.partnerName} can resume the session.`
  );
}

// Whether the person may extend the session by a time that is worth it.
export const canExtend = ({ session }: SessionState): boolean =>
  session?.expiresAtMs != null && session.extendUntilMs !== null && session.extendUntilMs - session.expiresAtMs >= MIN_EXTENSION_MS;

// The server's clock, as far as the page knows it.
export const serverNowMs = ({ skewMs }: SessionState, nowMs: number): number => nowMs + skewMs;

export function describeIdlePause({ session, skewMs }: SessionState): string | null {
  if (!session?.idlePause) return null;
  return `This session was not used for a while, so it will be paused at ${formatTime(session.idlePause.atMs - skewMs)}. Press a key or click anywhere to keep it running.`;
}

const formatTime = (ms: number): string => new Date(ms).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });

export function formatTimeLeft(leftMs: number): string {
  const minutes = Math.round(leftMs / 60_000);
  if (minutes < 2) return `${Math.ceil(leftMs / 1000)} s left`;
  if (minutes < 60) return `${minutes} min left`;
  const rest = minutes % 60;
  return `${Math.floor(minutes / 60)} h${rest ? ` ${rest} min` : ""} left`;
}
