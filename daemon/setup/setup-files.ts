import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ExpectedPort, RepositorySettings } from "@berth/contract/daemon.ts";
import type { SetupReport, SetupRequest } from "@berth/contract/daemon-internal.ts";
import { isStringRecord } from "../http/body.ts";
import { recordOf } from "../io/json-values.ts";
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
  // The commands of the repository for every start of the sandbox. null: none.
  readStart(): StartCommands | null;
  writeStart(start: StartCommands): void;
  // The ports that the repository's programs use.
  readPorts(): ExpectedPort[];
  writePorts(ports: ExpectedPort[]): void;
  // The settings of the editor that the repository chooses.
  readonly settingsFile: string;
  readSettings(): RepositorySettings;
  writeSettings(settings: RepositorySettings): void;
  // The files for the build of an image, and the build's log so far.
  readonly buildArchive: string;
  readonly buildLog: string;
  // Why the build has failed. null: it has not ended.
  readBuildEnd(): BuildEnd | null;
  writeBuildEnd(end: BuildEnd): void;
  removeBuild(): void;
}

export interface BuildEnd {
  reason: string;
}

export interface StartCommands {
  folder: string;
  commands: string[][];
}

export interface SetupPlan extends SetupRequest {
  workspace: string;
  // The terminal of the attempt before, which a new one replaces.
  terminalId: string | null;
}

export function openSetupFiles(folder: string): SetupFiles {
  const fileOf = (name: "plan" | "report" | "env" | "start" | "ports" | "settings" | "build-end") => join(folder, `${name}.json`);

  // Most sandboxes have none of these files, and every start of a program looks for one. An exception takes longer than the look.
  function read<T>(file: string): T | null {
    if (!existsSync(file)) return null;
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

  const buildArchive = join(folder, "build.tar");
  const buildLog = join(folder, "build.log");

  return {
    folder,
    buildArchive,
    buildLog,
    readBuildEnd() {
      const found = read<Partial<BuildEnd>>(fileOf("build-end"));
      return typeof found?.reason === "string" ? { reason: found.reason } : null;
    },
    writeBuildEnd: (end) => write(fileOf("build-end"), end),
    removeBuild() {
      for (const file of [buildArchive, buildLog, fileOf("build-end")]) rmSync(file, { force: true });
    },
    readPlan: () => read(fileOf("plan")),
    writePlan: (plan) => write(fileOf("plan"), plan),
    readReport(attempt) {
      const found = read<SetupReport & { attempt: number }>(fileOf("report"));
      if (found?.attempt !== attempt) return null;
      const { attempt: _, ...report } = found;
      return report;
    },
    readEnv() {
      const found = read<unknown>(fileOf("env"));
      if (!isStringRecord(found)) return {};
      // The operating system cannot pass a variable with a NUL character.
      return Object.fromEntries(Object.entries(found).filter((pair) => !pair.join("").includes("\0")));
    },
    writeEnv: (env) => write(fileOf("env"), env),
    readStart() {
      const found = read<Partial<StartCommands>>(fileOf("start"));
      const isWhole = typeof found?.folder === "string" && Array.isArray(found.commands) && found.commands.length > 0;
      return isWhole ? (found as StartCommands) : null;
    },
    writeStart: (start) => write(fileOf("start"), start),
    readPorts() {
      const found = read<unknown>(fileOf("ports"));
      const isPort = (one: Partial<ExpectedPort> | null) =>
        Number.isInteger(one?.port) && (one?.label === null || typeof one?.label === "string");
      return Array.isArray(found) ? (found as ExpectedPort[]).filter(isPort) : [];
    },
    settingsFile: fileOf("settings"),
    readSettings() {
      return recordOf(read(fileOf("settings"))) as RepositorySettings;
    },
    writeSettings: (settings) => write(fileOf("settings"), settings),
    writePorts: (ports) => write(fileOf("ports"), ports),
    writeReport: (attempt, report) => write(fileOf("report"), { attempt, ...report }),
  };
}
