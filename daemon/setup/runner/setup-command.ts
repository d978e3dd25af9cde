import { spawn } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { constants as systemConstants } from "node:os";
import { join } from "node:path";
import { findShell } from "../../programs/shell.ts";
import { startFailure } from "../../programs/start-failure.ts";
import type { SetupPlan } from "../setup-files.ts";
import type { Devcontainer } from "./devcontainer.ts";
import { print, printCommand } from "../../io/print.ts";

const FILE = ".berth/setup";
// Stands for the shell of the image, which may be in another place.
const SHELL = "/bin/sh";

// The commands of the create, of the repository or of the template, in this order. Each of them is a list of words.
export function findCommands({ command, defaultCommand }: SetupPlan, root: string, devcontainer: Devcontainer | null): string[][] {
  return [...findMain(), ...(devcontainer?.postStart ?? [])];

  function findMain(): string[][] {
    if (command !== null) return [inShell(command)];
    const file = join(root, FILE);
    if (existsSync(file)) return [isExecutable(file) ? [file] : [SHELL, file]];
    if (devcontainer && devcontainer.postCreate.length > 0) return devcontainer.postCreate;
    return defaultCommand === null ? [] : [inShell(defaultCommand)];
  }
}

// Runs commands until one fails. Returns the exit code of the last one; null if there was none.
export async function runCommands(commands: string[][], folder: string, env: Record<string, string>): Promise<number | null> {
  let exitCode: number | null = null;
  for (const words of commands) {
    exitCode = await runCommand(words, folder, env);
    if (exitCode !== 0) return exitCode;
  }
  return exitCode;
}

async function runCommand(words: string[], folder: string, env: Record<string, string>): Promise<number> {
  const [named = "", ...args] = words;
  const file = named === SHELL ? (findShell() ?? named) : named;
  printCommand(words[1] === "-c" ? words.slice(2) : words);
  // The variables of the session take precedence.
  const child = spawn(file, args, { cwd: folder, env: { ...env, ...process.env }, stdio: "inherit" });
  return new Promise((resolve) => {
    child.once("error", (error) => {
      print(`${startFailure(error)}.`);
      resolve(127);
    });
    child.once("exit", (code, signal) => resolve(code ?? 128 + (systemConstants.signals[signal ?? "SIGTERM"] ?? 0)));
  });
}

const inShell = (command: string): string[] => [SHELL, "-c", command];

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
