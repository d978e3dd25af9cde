import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, vi } from "vitest";

const bin = join(import.meta.dirname, "../bin.js");
const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

// Each command is two processes, and a busy machine starts them slowly.
vi.setConfig({ testTimeout: 120_000 });

// A data folder, and the commands as an operator runs them on it: as real processes.
export function createInstallation(env: Record<string, string> = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), "berth-cli-"));
  folders.push(dataDir);
  const settings = { PATH: process.env.PATH ?? "", HOME: dataDir, BERTH_DATA_DIR: dataDir, ...env };
  const berth = (...args: string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      execFile("node", [bin, ...args], { cwd: dataDir, env: settings }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
      );
    });
  const json = async (...args: string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await berth(...args, "--json");
    if (code !== 0) throw new Error(stderr);
    return JSON.parse(stdout);
  };
  return { berth, json, dataDir, settings };
}

// Runs `berth serve` until it has started, then stops it.
export async function serveUntilStarted(cwd: string, env: Record<string, string>): Promise<{ code: number | null; stdout: string }> {
  const child = spawn("node", [bin, "serve"], { cwd, env, stdio: ["ignore", "pipe", "ignore"] });
  let stdout = "";
  child.stdout.on("data", (chunk) => {
    stdout += String(chunk);
    if (stdout.includes("is running at")) child.kill("SIGTERM");
  });
  // Not `exit`, which may come before the last output.
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout };
}
