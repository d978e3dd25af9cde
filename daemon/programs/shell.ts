import { AppError } from "@berth/contract/errors.ts";
import { isProgram } from "./is-program.ts";

const BASH = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];
// Images with debugging tools only have their shell in /busybox.
export const PLAIN_SHELLS = ["/bin/sh", "/usr/bin/sh", "/bin/ash", "/busybox/sh"];

// The shells of the image. Not cached, because a user may install one. Our own lib/sh does not count, because commands run with the
// image's programs.
export const findBash = (): string | undefined => BASH.find(isProgram);
export const findShell = (): string | undefined => PLAIN_SHELLS.find(isProgram) ?? findBash();

// For people who type.
export const findBestShell = (): string | undefined => findBash() ?? findShell();

// Throws shell_unavailable if the image has no shell.
export function requireShell(shell: string | undefined): string {
  if (shell === undefined) throw new AppError("shell_unavailable");
  return shell;
}

// The words of a command that a shell runs.
export const inShell = (command: string): string[] => [requireShell(findShell()), "-c", command];
