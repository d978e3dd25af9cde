import { execFile } from "node:child_process";
import { join } from "node:path";
import { runCommand, type CommandResult } from "./run-command.ts";

export const cliPath = join(import.meta.dirname, "../../../cli/bin.js");

// The settings of an installation, as commands need them.
export interface CliPlace {
  env: Record<string, string>;
  dataDir: string;
}

export const cliEnv = ({ env, dataDir }: CliPlace) => ({ PATH: process.env.PATH ?? "", HOME: dataDir, ...env });

// Runs `berth` without a terminal and waits for its end.
export function runCli(place: CliPlace, ...args: string[]): Promise<CommandResult> {
  return new Promise((resolve) => {
    execFile(process.execPath, [cliPath, ...args], { env: cliEnv(place) }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });
}

// The same in this process, which is cheaper. For commands whose process does not matter to the test.
export const runCliHere = (place: CliPlace, ...args: string[]) => runCommand(args, { env: cliEnv(place), cwd: process.cwd() });

// Runs `berth … --json` and returns its output. Throws with its error if it fails.
export const runCliForJson = async <Result>(place: CliPlace, ...args: string[]): Promise<Result> =>
  parse<Result>(await runCli(place, ...args, "--json"));

// The same in this process.
export const runCliForJsonHere = async <Result>(place: CliPlace, ...args: string[]): Promise<Result> =>
  parse<Result>(await runCliHere(place, ...args, "--json"));

function parse<Result>({ code, stdout, stderr }: CommandResult): Result {
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Result;
}
