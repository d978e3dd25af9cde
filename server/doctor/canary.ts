import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { newId } from "@berth/contract";
import type { Config } from "../config/config.ts";
import { createDaemonLinks } from "../daemon-link/daemon-links.ts";
import { openDriver, probeDrivers, RUNTIME_DIR } from "../drivers/index.ts";
import { createLocalEgress } from "../egress/local-egress.ts";
import { silentLog } from "../log.ts";
import { DEFAULT_TEMPLATE } from "../templates.ts";
import type { Finding } from "./finding.ts";

const TIMEOUT_MS = 60_000;
const DISK_MB = 64;
// Until the machine restarts. Only root writes to the first one.
const CACHE_OF_ROOT = "/run/berth/canary.json";
export const CANARY_FILE = "canary.json";
// Holds a data folder for each canary, named after its driver and the process that runs it.
export const CANARY_FOLDER = "canary";

// Runs a sandbox with our daemon and its egress to its end, in a data folder of its own. The probe of a driver starts a container without
// either, so it does not notice files that the sandbox's user cannot read. null: such a sandbox would cost too much with this driver.
export async function runCanary(config: Config, driverName: string, signal = AbortSignal.timeout(TIMEOUT_MS)): Promise<Finding | null> {
  if (driverName !== "oci" && driverName !== "process") return null;
  const topic = "sandbox";
  try {
    await endLeftCanaries(config);
    const tookMs = await startSandbox({ ...config, driver: driverName, allowUnisolated: true }, signal);
    return { topic, state: "good", text: `A sandbox started, ran a command and reached its proxy within ${(tookMs / 1000).toFixed(1)} s.` };
  } catch (error) {
    const text = `A sandbox does not work here: ${describe(error)}.`;
    return { topic, state: "bad", text, cure: findCure() };
  }
}

// The same, unless it has succeeded before under the same conditions. null: it works.
export async function findSandboxFault(config: Config, driverName: string, signal: AbortSignal): Promise<Finding | null> {
  if (driverName !== "oci") return null;
  await endLeftCanaries(config);
  const conditions = await describeConditions(config);
  const cacheFile = process.getuid?.() === 0 ? CACHE_OF_ROOT : join(config.dataDir, CANARY_FILE);
  if (readCache(cacheFile) === conditions) return null;
  const finding = await runCanary(config, driverName, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]));
  if (finding?.state !== "good") return finding;
  writeFileSync(cacheFile, conditions);
  return null;
}

// Ends the sandboxes of canaries whose process was killed.
export async function endLeftCanaries(config: Config): Promise<void> {
  const root = join(config.dataDir, CANARY_FOLDER);
  for (const name of existsSync(root) ? readdirSync(root) : []) {
    const [driver, pid] = name.split("-") as [Config["driver"], string];
    if (pid !== String(process.pid) && runs(pid)) continue;
    const dataDir = join(root, name);
    await destroySandboxes({ ...config, dataDir, driver, allowUnisolated: true });
    rmSync(dataDir, { recursive: true, force: true });
  }
}

// A process that was killed is listed until its parent has noticed.
function runs(pid: string): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function destroySandboxes(config: Config): Promise<void> {
  await using driver = await openDriver(config, silentLog);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  for (const { id } of await driver.list(signal)) await driver.destroy(id, signal);
}

async function startSandbox(config: Config, signal: AbortSignal): Promise<number> {
  const dataDir = join(config.dataDir, CANARY_FOLDER, `${config.driver}-${process.pid}`);
  // Doctor leaves nothing behind, also where no server has run yet.
  const created = mkdirSync(dataDir, { recursive: true, mode: 0o700 }) ?? dataDir;
  const startedMs = performance.now();
  try {
    await using driver = await openDriver({ ...config, dataDir }, silentLog);
    const token = randomBytes(16).toString("hex");
    await using egress = createLocalEgress({ dataDir, log: silentLog, allow: [], ownPorts: [] });
    await using links = createDaemonLinks({ driver, tokenOf: () => token, log: silentLog });
    const id = newId("sbx", Date.now());
    const template = { ...DEFAULT_TEMPLATE, diskMb: DISK_MB };
    await egress.open(id, template);
    try {
      await driver.create({ id, template, tokenHash: createHash("sha256").update(token).digest("hex") }, signal);
      const [node, socket] =
        driver.name === "oci"
          ? ["/opt/berth/bin/node", "/run/berth-egress/proxy.sock"]
          : [join(RUNTIME_DIR, "host/node"), join(dataDir, "egress", id, "proxy.sock")];
      const command = [node, "-e", ASK_PROXY, socket];
      const headers = { "content-type": "application/json" };
      const response = await links.request(id, { method: "POST", path: "/exec", headers, body: JSON.stringify({ command }), signal });
      const output = await text(response.body);
      if (!output.includes("answered")) throw new Error(`it does not reach its proxy (${output.trim().slice(0, 500)})`);
      return performance.now() - startedMs;
    } finally {
      await driver.destroy(id, AbortSignal.timeout(TIMEOUT_MS));
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
    for (let folder = dirname(dataDir); folder.startsWith(created); folder = dirname(folder)) removeEmpty(folder);
  }
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Another process uses it.
  }
}

// Any answer will do.
const ASK_PROXY = `require("http").get({ socketPath: process.argv[1], path: "http://no.invalid/" }, () => console.log("answered"))
  .on("error", (error) => console.log(String(error)))`;

// The files of the runtime folder that every sandbox needs.
const RUNTIME_FILES = ["", "init.sh", "lib/sh", "bin/node", "daemon.cjs"];

function findCure(): string {
  const isReadable = RUNTIME_FILES.every((name) => (statSync(join(RUNTIME_DIR, name)).mode & 0o004) !== 0);
  return isReadable
    ? "The log of a create has more: session.creating.failed."
    : `The users of sandboxes cannot read ${RUNTIME_DIR}. Run: chmod -R a+rX ${RUNTIME_DIR}`;
}

// The boot of the machine, the probe, which names the runtime, and the files that a sandbox runs, whose time changes with their mode.
async function describeConditions(config: Config): Promise<string> {
  const [probe] = await probeDrivers({ ...config, driver: "oci" });
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const files = RUNTIME_FILES.map((name) => statSync(join(RUNTIME_DIR, name)).ctimeMs);
  return JSON.stringify([boot, probe?.reason, RUNTIME_DIR, ...files]);
}

function readCache(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${describe(error.cause)}`;
}
