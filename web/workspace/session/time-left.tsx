import { Clock } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { formatTimeLeft, timeLeftMs } from "../state/sandbox/session.ts";

const WARN_MS = 5 * 60_000;

// The time until the session is paused, with a warning shortly before.
export function TimeLeft() {
  const { notices } = useWorkspace();
  const state = useWorkspaceState("session", (session) => session);
  const [nowMs, setNowMs] = useState(Date.now);
  const warned = useRef(false);
  const leftMs = timeLeftMs(state, nowMs);
  const isSoon = leftMs !== null && leftMs <= WARN_MS;

  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), isSoon ? 1000 : 15_000);
    return () => clearInterval(timer);
  }, [isSoon]);

  useEffect(() => {
    if (isSoon && !warned.current)
      notices.info("This session will be paused in a few minutes. Your files are kept; running programs stop.");
    warned.current = isSoon;
  }, [isSoon, notices]);

  if (leftMs === null) return null;
  return (
    <span className={isSoon ? "chip warn" : "chip"} title="Time until this session is paused" role="timer">
      <Clock size={13} />
      {formatTimeLeft(leftMs)}
    </span>
  );
}
