import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { findLockHolder } from "../../../server/data-folder/data-folder-lock.ts";
import { readProcesses } from "../../../server/drivers/host/process-table.ts";
import { isReady } from "./berth.ts";
import type { CliPlace } from "./cli.ts";
import { destroySandboxes } from "./destroy-sandboxes.ts";
import { freePort } from "./port.ts";

// The real `npm start`, as a part of a command in a shell, such as a pipeline. The shell and all that it starts are one process group.
export interface NpmStart extends CliPlace, AsyncDisposable {
  url: string;
  // Writes to the command's standard input.
  type(text: string): void;
  // The output of the command so far.
  output(): string;
  isReady(): Promise<boolean>;
  // The server's process id, or null if no server runs.
  serverPid(): Promise<number | null>;
  signalGroup(signal: NodeJS.Signals): void;
  // Resolves when all processes of the group have ended.
  ended(): Promise<void>;
}

const root = join(import.meta.dirname, "../../..");

// `command` contains `npm start` and runs in the data folder. Disposing ends everything and destroys the sandboxes.
export async function runNpmStart(command: string, extra: Record<string, string> = {}): Promise<NpmStart> {
  const dataDir = extra.BERTH_DATA_DIR ?? (await mkdtemp(join(tmpdir(), "berth-start-")));
  const port = await freePort();
  const env = {
    BERTH_DATA_DIR: dataDir,
    BERTH_PORT: String(port),
    BERTH_POOL_SIZE: "0",
    BERTH_POOL_MAX: "0",
    BERTH_RATE_LIMIT: "0",
    ...extra,
  };
  const shell = spawn("sh", ["-c", command.replace("npm start", `npm --prefix '${root}' start`)], {
    cwd: dataDir,
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? dataDir, ...env },
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  const exited = once(shell, "exit");
  let output = "";
  for (const stream of [shell.stdout, shell.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  shell.stdin.on("error", () => {});

  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      process.kill(-shell.pid!, signal);
    } catch {
      // All of it has ended.
    }
  };
  const serverPid = async () => {
    const holder = await findLockHolder(dataDir);
    return holder === "hidden" ? null : holder;
  };
  const url = `http://127.0.0.1:${port}`;
  const ended = async () => {
    // A process of the group may outlive the shell. A zombie has ended. Reading all processes of the machine takes milliseconds.
    while (readProcesses().some(({ group, state }) => group === shell.pid && state !== "Z")) await delay(100);
    await exited;
  };
  return {
    url,
    env,
    dataDir,
    type: (text) => void shell.stdin.write(text),
    output: () => output,
    isReady: () => isReady(url),
    serverPid,
    signalGroup,
    ended,
    async [Symbol.asyncDispose]() {
      const pid = await serverPid();
      if (pid !== null) process.kill(pid, "SIGKILL");
      signalGroup("SIGCONT");
      signalGroup("SIGKILL");
      // A canary counts as left behind only when the process that ran it has ended.
      await ended();
      await destroySandboxes(env);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

// Runs the program after it in a terminal of its own, whose keyboard is the standard input and whose screen is the standard output.
export const IN_TERMINAL = `python3 '${join(import.meta.dirname, "terminal.py")}'`;
