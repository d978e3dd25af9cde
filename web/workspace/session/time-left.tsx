import { Clock } from "lucide-react";
import { useEffect, useState } from "react";
import { usePage, useSandbox, useSession, useSessionState } from "../state/context.ts";
import { canExtend, describeTimeout, formatTimeLeft, timeLeftMs } from "../state/session/session-store.ts";

const WARN_MS = 5 * 60_000;

// The time until the session is paused or destroyed, with a warning shortly before.
export function TimeLeft() {
  const { notices } = usePage();
  const { api } = useSandbox();
  const session = useSession();
  const { mayEdit } = session;
  const state = useSessionState((current) => current);
  const [nowMs, setNowMs] = useState(Date.now);
  const leftMs = timeLeftMs(state, nowMs);
  const isSoon = leftMs !== null && leftMs <= WARN_MS;
  const mayExtend = mayEdit && canExtend(state);

  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), isSoon ? 1000 : 15_000);
    return () => clearInterval(timer);
  }, [isSoon]);

  // The warning goes away when it is no longer true. A person who dismissed it is warned again only about another time.
  const warnsAboutMs = isSoon ? state.session?.expiresAtMs : null;
  useEffect(() => {
    const warning = warnsAboutMs ? describeTimeout(session.store.getState()) : null;
    if (warning === null) return;
    const extend = () => notices.attempt("Could not extend the session", async () => session.update(await api.extend()));
    const id = notices.warn(warning, mayExtend ? { label: "Keep working", run: () => void extend() } : undefined);
    return () => notices.dismiss(id);
  }, [warnsAboutMs, mayExtend, notices, session, api]);

  if (leftMs === null) return null;
  return (
    <span
      className={isSoon ? "chip warn" : "chip"}
      title={`Time until this session ${state.session?.onTimeout === "destroy" ? "ends" : "is paused"}`}
      role="timer"
    >
      <Clock size={13} />
      {formatTimeLeft(leftMs)}
    </span>
  );
}
