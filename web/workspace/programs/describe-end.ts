import type { ProgramEnd } from "@berth/contract/daemon/programs.ts";
import { describeExit } from "../terminals/terminal-tab.tsx";

// How a process has ended, in a few words.
export function describeEnd({ status, exitCode, signal, timedOut }: Omit<ProgramEnd, "at">): string {
  if (status === "lost") return "lost, because the sandbox was stopped";
  const exit = describeExit({ code: exitCode, signal });
  return timedOut ? `${exit}, after its time limit` : exit;
}
