import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { silentLog } from "@berth/server/log.ts";
import { openMigratedStore } from "../../tests/support/databases/migrated.ts";
import { runCommand, type CommandResult } from "../../tests/support/servers/run-command.ts";
import manifest from "../../package.json" with { type: "json" };

const bin = join(import.meta.dirname, "../bin.js");

// Each command is two processes, and a busy machine starts them slowly.
vi.setConfig({ testTimeout: 120_000 });

// A data folder that goes with the test, and the commands as an operator runs them on it. `berth` runs them in this process,
// `spawnBerth` as real processes.
export function createInstallation(env: Record<string, string> = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), "berth-cli-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const settings = { PATH: process.env.PATH ?? "", HOME: dataDir, BERTH_DATA_DIR: dataDir, ...env };
  const berth = (...args: string[]) => runCommand(args, { env: settings, cwd: dataDir });
  const spawnBerth = (...args: string[]) =>
    new Promise<CommandResult>((resolve) => {
      execFile("node", [bin, ...args], { cwd: dataDir, env: settings }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
      );
    });
  const json = async (...args: string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await berth(...args, "--json");
    if (code !== 0) throw new Error(stderr);
    return JSON.parse(stdout);
  };
  return { berth, spawnBerth, json, dataDir, settings };
}

// With a store, which `berth serve` creates at its first start.
export async function createInstallationWithStore(env: Record<string, string> = {}) {
  const installation = createInstallation(env);
  const store = await openMigratedStore({ url: env.BERTH_DATABASE_URL, file: join(installation.dataDir, "berth.db"), log: silentLog });
  await store[Symbol.asyncDispose]();
  return installation;
}

// `npm start` without the set-up. A signal to its shell must reach the server.
const startScript = manifest.scripts.start.replace("node scripts/setup.mjs serve", "true").replace("cli/bin.js", bin);

// Runs `npm start` until the server has started and `work` is done, then stops it.
export async function serveUntilStarted(
  cwd: string,
  env: Record<string, string>,
  work: (pid: number) => Promise<void> = async () => {},
): Promise<{ code: number | null; stdout: string }> {
  const child = spawn("sh", ["-c", startScript], { cwd, env, stdio: ["ignore", "pipe", "ignore"] });
  let stdout = "";
  let worked: Promise<void> | undefined;
  child.stdout.on("data", (chunk) => {
    stdout += String(chunk);
    if (stdout.includes("is running at")) worked ??= work(child.pid!).finally(() => child.kill("SIGTERM"));
  });
  // `exit` may come before the last output, so this waits for `close`.
  const [code] = (await once(child, "close")) as [number | null];
  await worked;
  return { code, stdout };
}
