import { existsSync } from "node:fs";
import type { Log } from "../log.ts";

const SHELL = "/bin/sh";

// Ends this process at once, after its `exit` handlers. `process.exit` waits for every file operation and name lookup that still
// runs, forever if a disk or a file system hangs. A program that replaces this one ends them.
export function endProcess(code: number): never {
  process.emit("exit", code);
  if (process.execve && existsSync(SHELL)) process.execve(SHELL, ["sh", "-c", `exit ${code}`], {});
  process.exit(code);
}

// Ends the process with 1 if it still runs after this time. `unfinished` names what the stop waits for; the next start finishes it.
export function endAfter(deadlineMs: number, log: Log, unfinished: () => string[]): void {
  setTimeout(() => {
    log.error("server.stop_timed_out", { deadlineMs, unfinished: unfinished() });
    endProcess(1);
  }, deadlineMs).unref();
}
