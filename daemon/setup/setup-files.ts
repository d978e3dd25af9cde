import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SetupReport, SetupRequest } from "@berth/contract/daemon.ts";
import { isStringRecord } from "../http/body.ts";
import { replaceFile } from "../io/replace-file.ts";

// The daemon and the program in the Setup terminal exchange two files: what to do, and how far it is. They survive a restart of
// the sandbox.
export interface SetupFiles {
  readonly folder: string;
  readPlan(): SetupPlan | null;
  writePlan(plan: SetupPlan): void;
  // null if this attempt has not begun.
  readReport(attempt: number): SetupReport | null;
  writeReport(attempt: number, report: SetupReport): void;
  // Variables that the repository wants for all programs.
  readEnv(): Record<string, string>;
  writeEnv(env: Record<string, string>): void;
}

export interface SetupPlan extends SetupRequest {
  workspace: string;
  // The terminal of the attempt before, which a new one replaces.
  terminalId: string | null;
}

export function openSetupFiles(folder: string): SetupFiles {
  const [planFile, reportFile, envFile] = ["plan.json", "report.json", "env.json"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];

  function read<T>(file: string): T | null {
    try {
      return JSON.parse(readFileSync(file, "utf8")) as T;
    } catch {
      return null;
    }
  }

  function write(file: string, value: object): void {
    mkdirSync(folder, { recursive: true });
    replaceFile(file, [Buffer.from(JSON.stringify(value))], { sync: false });
  }

  return {
    folder,
    readPlan: () => read(planFile),
    writePlan: (plan) => write(planFile, plan),
    readReport(attempt) {
      const found = read<SetupReport & { attempt: number }>(reportFile);
      return found?.attempt === attempt ? { status: found.status, reason: found.reason, exitCode: found.exitCode } : null;
    },
    readEnv() {
      const found = read<unknown>(envFile);
      if (!isStringRecord(found)) return {};
      // The operating system cannot pass a variable with a NUL character.
      return Object.fromEntries(Object.entries(found).filter((pair) => !pair.join("").includes("\0")));
    },
    writeEnv: (env) => write(envFile, env),
    writeReport: (attempt, report) => write(reportFile, { attempt, ...report }),
  };
}
