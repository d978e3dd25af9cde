import { AppError } from "@berth/contract/errors.ts";
import { isProgram } from "./is-program.ts";

const BASH = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];
// Images with debugging tools only have their shell in /busybox.
const PLAIN = ["/bin/sh", "/usr/bin/sh", "/bin/ash", "/busybox/sh"];

// The shells of the image. Not cached, because a user may install one. Our own lib/sh is none of them: what a command finds in a
// sandbox is the image's.
export const findBash = (): string | undefined => BASH.find(isProgram);
export const findShell = (): string | undefined => PLAIN.find(isProgram) ?? findBash();

// For people who type.
export const findBestShell = (): string | undefined => findBash() ?? findShell();

// Throws shell_unavailable if the image has no shell.
export function mustHave(shell: string | undefined): string {
  if (shell === undefined) throw new AppError("shell_unavailable");
  return shell;
}

// The words of a command that a shell runs.
export const inShell = (command: string): string[] => [mustHave(findShell()), "-c", command];

// Why a program could not be started, for people.
export function startFailure(error: Error & { code?: string; path?: string }): string {
  const { code, path = "", message } = error;
  // The system says the same if the program exists, and what it needs to run does not.
  if (code === "ENOENT" && path.includes("/") && isProgram(path))
    return `${path} cannot run in this sandbox: its image has no such interpreter or C library as the program names`;
  if (code === "ENOENT" && PLAIN.includes(path)) return new AppError("shell_unavailable").message;
  if (code === "ENOENT") return `Command not found: ${path}`;
  if (code === "EACCES") return `Permission denied: ${path}`;
  return `The command could not be started (${code ?? message})`;
}
