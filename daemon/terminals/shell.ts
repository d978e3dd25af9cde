import { existsSync } from "node:fs";
import { join } from "node:path";

const BASH = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];

// The command line of a new terminal's shell. Bash reads our `bashrc`, which then reads the user's own.
export function loginShell(): string[] {
  const bash = BASH.find((path) => existsSync(path));
  return bash ? [bash, "--rcfile", join(import.meta.dirname, "bashrc"), "-i"] : ["/bin/sh", "-i"];
}

// The command line of a shell that runs a command or, with null, the commands that it reads from its input.
export function commandShell(command: string | null): string[] {
  const shell = BASH.find((path) => existsSync(path)) ?? "/bin/sh";
  return command === null ? [shell, "-l"] : [shell, "-c", command];
}
