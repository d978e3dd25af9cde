import { useCallback, useEffect, useRef, useState } from "react";
import type { Program, ProgramList } from "@berth/contract/daemon/programs.ts";
import { useSandbox, useSessionState } from "../state/context.ts";
import { describeError } from "../state/page/notices.ts";
import { cpuShares } from "./cpu-shares.ts";

export interface ShownPrograms {
  programs: Program[];
  // When the sandbox made the list, by its own clock.
  atMs: number;
  shares: Map<string, number>;
}

const LOOK_EVERY_MS = 2000;
// Soon after the first look, because the use of the processor needs two.
const SECOND_LOOK_MS = 600;

// Reads the list again and again while the component is shown, in a page that is visible. `refresh` reads it now.
export function usePrograms(): { shown: ShownPrograms | null; problem: string | null; refresh: () => void } {
  const { api } = useSandbox();
  const isRunning = useSessionState(({ phase }) => phase === "running");
  const [shown, setShown] = useState<ShownPrograms | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const look = useRef(() => {});

  useEffect(() => {
    if (!isRunning) return;
    let before: ProgramList | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    let isLooking = false;
    look.current = () => void lookNow();
    const onVisible = () => document.hidden || look.current();
    document.addEventListener("visibilitychange", onVisible);
    look.current();
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };

    async function lookNow(): Promise<void> {
      clearTimeout(timer);
      if (isLooking || document.hidden) return;
      isLooking = true;
      const isFirst = before === null;
      try {
        const now = await api.json<ProgramList>("api/programs");
        if (isOver) return;
        setShown({ programs: now.programs, atMs: Date.parse(now.at), shares: before ? cpuShares(before, now) : new Map<string, number>() });
        setProblem(null);
        // The system counts in hundredths of a second, so a shorter time would tell nothing.
        if (before === null || Date.parse(now.at) - Date.parse(before.at) >= SECOND_LOOK_MS / 2) before = now;
      } catch (error) {
        if (!isOver) setProblem(describeError(error));
      }
      isLooking = false;
      if (!isOver) timer = setTimeout(look.current, isFirst ? SECOND_LOOK_MS : LOOK_EVERY_MS);
    }
  }, [api, isRunning]);

  return { shown, problem, refresh: useCallback(() => look.current(), []) };
}
