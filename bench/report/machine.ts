import { spawnSync } from "node:child_process";
import { cpus, freemem, loadavg, release, totalmem } from "node:os";
import { probeOci } from "../../server/drivers/oci/probe.ts";
import { percentile } from "./statistics.ts";

// Facts about the machine that a reader needs to judge a number.
export interface Machine {
  cores: number;
  processor: string;
  architecture: string;
  kernel: string;
  node: string;
  memoryGb: number;
  driver: string;
  commit: string;
}

const LOAD_SHARE = 0.3;
const LOOPS = 40;
const LOOP_SPREAD = 1.25;
const GB = 1e9;

export async function describeMachine(): Promise<Machine> {
  const probe = await probeOci();
  return {
    cores: cpus().length,
    processor: cpus()[0]?.model ?? "unknown",
    architecture: process.arch,
    kernel: `${process.platform} ${release()}`,
    node: process.version,
    memoryGb: Math.round(totalmem() / GB),
    driver: probe.usable ? `oci (${firstLine(probe.runtime, "--version")})` : `no oci: ${probe.reason}`,
    commit: firstLine("git", "rev-parse", "--short", "HEAD"),
  };
}

// Sentences about other work on this machine. A loop of fixed work shows what the load average does not: neighbours on the same
// host, and processors that change their speed.
export function findDisturbances(): string[] {
  const found: string[] = [];
  const load = loadavg()[0]!;
  if (load > cpus().length * LOAD_SHARE)
    found.push(`The machine is busy: its load is ${load.toFixed(1)} on ${cpus().length} cores. Trust the ratios more than the times.`);
  const loops = Array.from({ length: LOOPS }, fixedWork);
  const spread = percentile(loops, 0.95) / percentile(loops, 0.5);
  if (spread > LOOP_SPREAD) found.push(`The machine is uneven: a loop of fixed work takes ${spread.toFixed(2)} times its median at p95.`);
  if (freemem() < GB) found.push("The machine has less than 1 GB of free memory.");
  return found;
}

function fixedWork(): number {
  const startedMs = performance.now();
  let hash = 0;
  for (let i = 0; i < 3_000_000; i++) hash = (hash * 31 + i) | 0;
  // The result is used, so that the compiler keeps the loop.
  return performance.now() - startedMs + (hash === 0.5 ? 1 : 0);
}

function firstLine(command: string, ...args: string[]): string {
  return spawnSync(command, args, { encoding: "utf8", cwd: import.meta.dirname }).stdout?.split("\n")[0] || "unknown";
}
