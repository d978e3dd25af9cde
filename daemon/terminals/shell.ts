import { join } from "node:path";
import { findBash, findBestShell, requireShell } from "../programs/shell.ts";

// The command line of a new terminal's shell. Bash reads our `bashrc`, which then reads the user's own.
export function loginShell(): string[] {
  const bash = findBash();
  return bash ? [bash, "--rcfile", join(import.meta.dirname, "bashrc"), "-i"] : [requireShell(findBestShell()), "-i"];
}

// The command line of a shell that runs a command or, with null, the commands that it reads from its input.
export function commandShell(command: string | null): string[] {
  const shell = requireShell(findBestShell());
  return command === null ? [shell, "-l"] : [shell, "-c", command];
}
