import { readFileSync } from "node:fs";
import { programName } from "../programs/system/program-name.ts";

// The name of the program that reads a terminal's input; null if that is the terminal's own program, such as a shell.
export function foregroundProgram(ownPid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${ownPid}/stat`, "latin1");
    // The second field is a name in brackets, which can contain anything. The eighth is the group in the foreground.
    const group = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[5]);
    if (!(group > 0) || group === ownPid) return null;
    return programName(group);
  } catch {
    // It has just exited, or the system has no /proc.
    return null;
  }
}
