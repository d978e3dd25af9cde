import { foregroundProgram } from "./foreground.ts";

// Notices after output which program a terminal has in the foreground.
export interface ForegroundWatch {
  // null: the shell, or unknown.
  readonly program: string | null;
  noteOutput(): void;
  noteExit(): void;
}

export interface ForegroundWatchOptions {
  // Of the terminal's program; undefined if none runs.
  pid(): number | undefined;
  onChange(): void;
}

// A program that comes to the foreground or leaves it writes something, at least a line break or a prompt.
const CHECK_DELAY_MS = 200;
const CHECK_EVERY_MS = 1000;
// On a busy machine a program may start long after the line break that the shell wrote, and then write nothing.
const CHECKS_AFTER_OUTPUT = 5;

export function watchForeground({ pid, onChange }: ForegroundWatchOptions): ForegroundWatch {
  let program: string | null = null;
  let checking: NodeJS.Timeout | null = null;
  let checkedAtMs = 0;
  let checksLeft = 0;

  function check(): void {
    checking = null;
    checkedAtMs = Date.now();
    if (--checksLeft > 0) checking = setTimeout(check, CHECK_EVERY_MS).unref();
    const leader = pid();
    const found = leader === undefined ? null : foregroundProgram(leader);
    if (found === program) return;
    program = found;
    onChange();
  }

  return {
    get program() {
      return program;
    },
    noteOutput() {
      checksLeft = CHECKS_AFTER_OUTPUT;
      checking ??= setTimeout(check, Math.max(CHECK_DELAY_MS, checkedAtMs + CHECK_EVERY_MS - Date.now())).unref();
    },
    noteExit() {
      program = null;
    },
  };
}
