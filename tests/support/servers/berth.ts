import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { serverFlags } from "../../../cli/server-flags.js";
import { writeMigratedDatabase } from "../databases/migrated.ts";
import { createApi, type Api } from "./api.ts";
import { destroySandboxes } from "./destroy-sandboxes.ts";
import { freePort } from "./port.ts";

// The real server as a separate process with its own data folder and port. Tests may kill and restart it. Disposing destroys
// its sandboxes and deletes the folder.
export interface Berth extends AsyncDisposable {
  url: string;
  key: string;
  dataDir: string;
  env: Record<string, string>;
  api: Api;
  // Resolves when /readyz responds, to the milliseconds that this took.
  start(env?: Record<string, string>, options?: { flags: readonly string[] }): Promise<number>;
  // Sends SIGKILL and waits until the process has ended, like a power failure.
  kill(): Promise<void>;
  // Sends SIGTERM, like an operator, and resolves to the exit code.
  stop(): Promise<number | null>;
  // Resolves when the process has ended.
  died(): Promise<void>;
  // Resolves to the exit code when the process has ended, or to null if a signal ended it.
  exitCode(): Promise<number | null>;
  // The server's output so far.
  output(): string;
  // The server's process id. Throws if it has not been started.
  pid(): number;
}

const root = join(import.meta.dirname, "../../..");
const READY_TIMEOUT_MS = 60_000;

export async function startBerth(env: Record<string, string> = {}, options: BerthOptions = {}): Promise<Berth> {
  const berth = await prepareBerth(env, options);
  await berth.start().catch(async (error: unknown) => {
    await berth[Symbol.asyncDispose]();
    throw error;
  });
  return berth;
}

export interface BerthOptions {
  // The number of files that the server may open.
  maxFiles?: number;
  // A command that runs the server's command, in a process group of its own and with a pipe as its standard input.
  supervisor?: readonly string[];
}

export async function prepareBerth(env: Record<string, string> = {}, { maxFiles, supervisor }: BerthOptions = {}): Promise<Berth> {
  const dataDir = env.BERTH_DATA_DIR ?? (await mkdtemp(join(tmpdir(), "berth-test-")));
  await mkdir(dataDir, { recursive: true });
  const file = join(dataDir, "berth.db");
  if (!env.BERTH_DATABASE_URL && !existsSync(file)) await writeMigratedDatabase(file);
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const key = env.BERTH_API_KEY ?? `berth_${randomBytes(32).toString("hex")}`;
  const settings = {
    BERTH_DATA_DIR: dataDir,
    BERTH_PORT: String(port),
    BERTH_API_KEY: key,
    BERTH_POOL_SIZE: "0",
    BERTH_POOL_MAX: "0",
    BERTH_RATE_LIMIT: "0",
    ...env,
  };
  let child: ChildProcess | undefined;
  let exited: Promise<number | null> = Promise.resolve(null);
  let isEndExpected = false;
  let output = "";

  async function start(extra: Record<string, string> = {}, { flags }: { flags: readonly string[] } = { flags: [] }): Promise<number> {
    reportUnexpectedEnd();
    isEndExpected = false;
    const startedMs = performance.now();
    // With its flags, the server need not restart itself, which takes a tenth of its start.
    const command = [process.execPath, ...serverFlags(), join(root, "cli/bin.js"), "serve", ...flags];
    const limited = maxFiles === undefined ? command : ["sh", "-c", `ulimit -n ${maxFiles}; exec "$@"`, "sh", ...command];
    const [program, ...args] = [...(supervisor ?? []), ...limited];
    child = spawn(program!, args, {
      cwd: dataDir,
      env: { PATH: process.env.PATH ?? "", HOME: dataDir, ...settings, ...extra },
      stdio: [supervisor ? "pipe" : "ignore", "pipe", "pipe"],
      detached: supervisor !== undefined,
    });
    for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (chunk) => (output += String(chunk)));
    let ended = false;
    exited = new Promise((resolve) =>
      child!.once("exit", (code) => {
        ended = true;
        resolve(code);
      }),
    );
    while (!(await isReady(url))) {
      if (ended) throw new Error(`the server ended while starting:\n${output.slice(-4000)}`);
      if (performance.now() - startedMs > READY_TIMEOUT_MS) throw new Error(`the server did not become ready:\n${output.slice(-4000)}`);
      await delay(40);
    }
    return performance.now() - startedMs;
  }

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    reportUnexpectedEnd();
    child?.kill(signal);
    return exited;
  }

  function untilEnded(): Promise<number | null> {
    isEndExpected = true;
    return exited;
  }

  // The test that fails sees only a refused connection.
  function reportUnexpectedEnd(): void {
    const hasFailed = child !== undefined && (child.signalCode !== null || (child.exitCode !== null && child.exitCode !== 0));
    if (!hasFailed || isEndExpected) return;
    isEndExpected = true;
    console.error(
      `the server ended with ${child!.signalCode ?? `code ${child!.exitCode}`} although no test ended it:\n${output.slice(-4000)}`,
    );
  }

  return {
    url,
    key,
    dataDir,
    env: settings,
    api: createApi(url, key),
    start,
    kill: () =>
      end("SIGKILL")
        .then(untilEnded)
        .then(() => {}),
    stop: () => end("SIGTERM").then(untilEnded),
    died: () => untilEnded().then(() => {}),
    exitCode: untilEnded,
    output: () => output,
    pid() {
      if (child?.pid === undefined) throw new Error("the server has not been started");
      return child.pid;
    },
    async [Symbol.asyncDispose]() {
      await end("SIGKILL");
      await destroySandboxes(settings);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    (response) => response.ok,
    () => false,
  );
}
