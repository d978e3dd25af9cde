// Measures the overhead of the oci driver over its runtime. Each round alternates between bare runc (a container of the same
// bundle that only sleeps) and the driver, so that the machine's load affects both.
//   node bench/driver-oci.ts [rounds]
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "@berth/contract";
import { createOciDriver } from "../server/drivers/oci/oci.ts";
import { probeOci } from "../server/drivers/oci/probe.ts";
import { mustRun } from "../server/drivers/host/run.ts";
import { silentLog } from "../server/log.ts";
import { DEFAULT_TEMPLATE } from "../server/templates.ts";

const rounds = Number(process.argv[2] ?? 20);
const probe = await probeOci();
if (!probe.usable) throw new Error(probe.reason);
const dataDir = mkdtempSync(join(tmpdir(), "berth-bench-"));
const runtimeDir = join(import.meta.dirname, "../daemon/dist");
const driver = createOciDriver({ dataDir, runtimeDir, log: silentLog, runtime: probe.runtime, boundDisks: probe.boundDisks });
const patience = () => AbortSignal.timeout(60_000);
const times = new Map<string, number[]>();

async function timed<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const startMs = performance.now();
  const result = await work();
  times.set(name, [...(times.get(name) ?? []), performance.now() - startMs]);
  return result;
}

for (let round = 0; round < rounds; round++) {
  const id = newId("sbx", Date.now());
  const spec = { id, template: DEFAULT_TEMPLATE, tokenHash: createHash("sha256").update(id).digest("hex") };
  await timed("create", () => driver.create(spec, patience()));
  await timed("pause", () => driver.pause(id, patience()));
  await timed("resume", () => driver.resume(spec, patience()));
  await bareRound(join(dataDir, "sandboxes", id), `bare-${round}`);
  await timed("hibernate", () => driver.hibernate(id, patience()));
  await timed("wake", () => driver.resume(spec, patience()));
  await timed("destroy", () => driver.destroy(id, patience()));
}
rmSync(dataDir, { recursive: true });

async function bareRound(bundleOfSandbox: string, name: string): Promise<void> {
  const bundle = mkdtempSync(join(tmpdir(), "berth-bench-bundle-"));
  const config = JSON.parse(readFileSync(join(bundleOfSandbox, "config.json"), "utf8")) as {
    process: { args: string[] };
    linux: { cgroupsPath: string };
  };
  config.process.args = ["/bin/sleep", "1000"];
  config.linux.cgroupsPath = `/berth-bench-${name}`;
  writeFileSync(join(bundle, "config.json"), JSON.stringify(config));
  const runc = (...args: string[]) =>
    mustRun(probe.usable ? probe.runtime : "", ["--root", join(bundle, "state"), ...args], { quiet: true });
  await timed("runc run", () => runc("run", "--detach", "--bundle", bundle, name));
  await timed("runc pause", () => runc("pause", name));
  await timed("runc resume", () => runc("resume", name));
  await timed("runc delete", () => runc("delete", "--force", name));
  rmSync(bundle, { recursive: true });
}

const median = (name: string) => (times.get(name) ?? []).toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? NaN;
const smallest = (name: string) => Math.min(...(times.get(name) ?? [NaN]));
const show = (value: number) => value.toFixed(1).padStart(8);
console.log(`${"ms".padEnd(12)}${"median".padStart(8)}${"least".padStart(8)}   bare runtime: median, least`);
for (const [ours, bare] of [
  ["create", "runc run"],
  ["pause", "runc pause"],
  ["resume", "runc resume"],
  ["hibernate"],
  ["wake", "runc run"],
  ["destroy", "runc delete"],
] as const) {
  const beside = bare === undefined ? "" : `   ${bare}:${show(median(bare))}${show(smallest(bare))}`;
  console.log(`${ours.padEnd(12)}${show(median(ours))}${show(smallest(ours))}${beside}`);
}
