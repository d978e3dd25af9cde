import { execFile } from "node:child_process";
import { join } from "node:path";

export const cliPath = join(import.meta.dirname, "../../../cli/bin.js");

// An installation as commands see it: its settings.
export interface CliPlace {
  env: Record<string, string>;
  dataDir: string;
}

export const cliEnv = ({ env, dataDir }: CliPlace) => ({ PATH: process.env.PATH ?? "", HOME: dataDir, ...env });

// `berth` as an operator runs it, without a terminal, to its end.
export function runCli(place: CliPlace, ...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [cliPath, ...args], { env: cliEnv(place) }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });
}
