import { spawn } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { constants as systemConstants } from "node:os";
import { join } from "node:path";
import type { SetupPlan } from "../setup-files.ts";
import { print, printCommand } from "./print.ts";

// A command as words, and how it is shown.
export interface Command {
  words: string[];
  shown: string;
}

const FILE = ".berth/setup";

// The command of the create, of the repository or of the template, in this order. null: there is none.
export function findCommand({ command, defaultCommand }: SetupPlan, root: string): Command | null {
  if (command !== null) return inShell(command);
  const file = join(root, FILE);
  if (existsSync(file)) return { words: isExecutable(file) ? [file] : ["/bin/sh", file], shown: FILE };
  return defaultCommand === null ? null : inShell(defaultCommand);
}

// Returns its exit code.
export async function runCommand({ words, shown }: Command, folder: string): Promise<number> {
  printCommand([shown]);
  const [file = "", ...args] = words;
  const child = spawn(file, args, { cwd: folder, stdio: "inherit" });
  return new Promise((resolve) => {
    child.once("error", (error) => {
      print(`The command could not be started: ${error.message}`);
      resolve(127);
    });
    child.once("exit", (code, signal) => resolve(code ?? 128 + (systemConstants.signals[signal ?? "SIGTERM"] ?? 0)));
  });
}

const inShell = (command: string): Command => ({ words: ["/bin/sh", "-c", command], shown: command });

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
