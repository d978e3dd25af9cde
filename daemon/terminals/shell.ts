import { existsSync } from "node:fs";
import { join } from "node:path";

const BASH = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];

// The shell of a new terminal. Bash reads our `bashrc`, which ends by reading the user's own.
export function loginShell(): string[] {
  const bash = BASH.find((path) => existsSync(path));
  return bash ? [bash, "--rcfile", join(import.meta.dirname, "bashrc"), "-i"] : ["/bin/sh", "-i"];
}
