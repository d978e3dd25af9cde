import { closeSync, openSync, readSync } from "node:fs";
import { basename } from "node:path";
import { readText } from "../../io/read-or-empty.ts";

// Node gives its main thread this name, and the kernel names the process after it.
const NODE_THREAD = "MainThread";
const MAX_COMMAND_BYTES = 4096;

// The name of the program that a process runs; null if it has ended, and where there is no /proc.
export function programName(pid: number): string | null {
  const name = readText(`/proc/${pid}/comm`).trim();
  return (name === NODE_THREAD && basename(readCommand(pid)[0] ?? "")) || name || null;
}

// The first words of a process's command line, which can be megabytes long.
export function readCommand(pid: number): string[] {
  try {
    const file = openSync(`/proc/${pid}/cmdline`, "r");
    try {
      const bytes = Buffer.alloc(MAX_COMMAND_BYTES);
      return bytes.toString("utf8", 0, readSync(file, bytes)).split("\0");
    } finally {
      closeSync(file);
    }
  } catch {
    // It has just ended.
    return [];
  }
}
