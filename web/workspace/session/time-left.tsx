import { Clock } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { formatTimeLeft, timeLeftMs } from "../state/sandbox/session.ts";

const WARN_MS = 5 * 60_000;

// How long the session still runs. Silent while there is plenty of time, clear when there is not.
export function TimeLeft() {
  const { notices } = useWorkspace();
  const state = useWorkspaceState("session", (session) => session);
  const [nowMs, setNowMs] = useState(Date.now);
  const warned = useRef(false);
  const leftMs = timeLeftMs(state, nowMs);
  const close = leftMs !== null && leftMs <= WARN_MS;

  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), close ? 1000 : 15_000);
    return () => clearInterval(timer);
  }, [close]);

  useEffect(() => {
    if (close && !warned.current) notices.info("This session will be paused in a few minutes. Files are kept; running programs stop.");
    warned.current = close;
  }, [close, notices]);

  if (leftMs === null) return null;
  return (
    <span className={close ? "chip warn" : "chip"} title="Time until this session is paused" role="timer">
      <Clock size={13} />
      {formatTimeLeft(leftMs)}
    </span>
  );
}
