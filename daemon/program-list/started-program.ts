import type { Program } from "@berth/contract/daemon/programs.ts";

// A program that a part of the daemon has started and that runs, for the list of programs. It leads a session and a group of processes.
export interface StartedProgram {
  // Absent for a kind whose programs have no id of their own.
  id?: string;
  kind: Program["kind"];
  // A text from the sandbox, or the words of a command.
  title: string | readonly string[];
  pid: number;
  stop(): void;
}
