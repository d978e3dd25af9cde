import { AppError } from "@berth/contract/errors.ts";
import { isProgram } from "./is-program.ts";
import { PLAIN_SHELLS } from "./shell.ts";

// Why a program could not be started, for people.
export function startFailure(error: Error & { code?: string; path?: string }): string {
  const { code, path = "", message } = error;
  // The error is the same if the program exists, but not what it needs to run.
  if (code === "ENOENT" && path.includes("/") && isProgram(path))
    return `${path} cannot run in this sandbox: its image has no such interpreter or C library as the program names`;
  if (code === "ENOENT" && PLAIN_SHELLS.includes(path)) return new AppError("shell_unavailable").message;
  if (code === "ENOENT") return `Command not found: ${path}`;
  if (code === "EACCES") return `Permission denied: ${path}`;
  return `The command could not be started (${code ?? message})`;
}
