// One line of output per step of set-up: its name and how long it took. The commands that a step runs stay silent, and a
// failed step ends in one sentence instead of a build tool's stack trace.
import { spawnSync } from "node:child_process";
import { appendFileSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Sandboxes run as other users and read the files that are installed and built here. Some machines mask that by default.
process.umask(0o022);

// The output may go to a program that leaves early, such as `head`. That is no reason to stop.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

// A step failed. The message says what happened, the likely reason, and what to do.
export class StepError extends Error {}

export async function runStep(name, work) {
  const startMs = performance.now();
  process.stderr.write(`berth: ${name} … `);
  try {
    await work();
    process.stderr.write(`${seconds(performance.now() - startMs)}\n`);
  } catch (error) {
    process.stderr.write("failed\n");
    throw error;
  }
}

export const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

// Runs a script of set-up. A failed step becomes one sentence and exit status 1.
export async function runSteps(work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    console.error(`berth: ${error.message}`);
    process.exit(1);
  }
}

// Runs a command and keeps its output to itself. Returns {ok, output}.
export function runQuietly(command, args, options = {}) {
  const folder = mkdtempSync(join(tmpdir(), "berth-setup-"));
  const path = join(folder, "output");
  const file = openSync(path, "a");
  try {
    const { status, error } = spawnSync(command, args, { ...options, stdio: ["ignore", file, file] });
    if (error) appendFileSync(path, `${error.message}\n`);
    return { ok: !error && status === 0, output: readFileSync(path, "utf8") };
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true, force: true });
  }
}
