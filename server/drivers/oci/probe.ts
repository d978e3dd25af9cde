import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { PLAIN_PATH, run } from "../run.ts";
import { bundleConfig } from "./bundle.ts";
import { openCgroups } from "./cgroups.ts";
import { prepareHostRoot } from "./root.ts";
import { pickUserIds } from "./user-ids.ts";
import { probeVolumes } from "./volume.ts";

export type OciProbe = { usable: false; reason: string } | { usable: true; reason: string; runtime: string; boundDisks: boolean };

export const ROOTS_DIR = "/run/berth/roots";
// gVisor's runsc is not among them: its sandboxes keep their files out of the host's sight, and with them the daemon's
// socket. It serves through the docker driver.
const CANDIDATES = ["runc", "crun"];
// What worked since the machine started works still: the next start of a server need not try again.
const MEMORY_FILE = "/run/berth/probe.json";
let cached: Promise<OciProbe> | undefined;

// Finds out by doing: a container with everything that a sandbox asks for is run to its end, and a volume made.
export function probeOci(): Promise<OciProbe> {
  return (cached ??= probe());
}

async function probe(): Promise<OciProbe> {
  if (process.platform !== "linux") return { usable: false, reason: "OCI containers need Linux." };
  if (process.getuid?.() !== 0) return { usable: false, reason: "OCI containers need the server to run as root." };
  const found = CANDIDATES.map(findProgram).filter((path) => path !== undefined);
  if (found.length === 0) return { usable: false, reason: "Neither runc nor crun is installed (apt install runc)." };
  const conditions = describeConditions(found);
  const remembered = recall(conditions);
  if (remembered) return remembered;
  const complaints: string[] = [];
  const scratch = mkdtempSync(join(tmpdir(), "berth-probe-"));
  try {
    for (const runtime of found) {
      const complaint = await tryRuntime(runtime, scratch);
      if (complaint !== undefined) {
        complaints.push(`${runtime}: ${complaint}`);
        continue;
      }
      const volumes = await probeVolumes(join(scratch, "disk"));
      const reason = `${runtime} runs containers here; ${volumes.reason}.`;
      return remember(conditions, { usable: true, runtime, boundDisks: volumes.bounded, reason });
    }
    return { usable: false, reason: `No container could be run (${complaints.join("; ")}).` };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

// Whatever the outcome depends on: this start of the machine, the runtimes, and what we ask of them.
function describeConditions(runtimes: readonly string[]): string {
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const versions = runtimes.map((path) => `${path} ${statSync(path).mtimeMs}`);
  const asked = JSON.stringify(bundleConfig({ ...SAMPLE, root: ROOTS_DIR }));
  return createHash("sha256")
    .update([boot, ...versions, asked].join("\n"))
    .digest("hex");
}

function recall(conditions: string): OciProbe | undefined {
  try {
    const memory = JSON.parse(readFileSync(MEMORY_FILE, "utf8")) as { conditions: string; probe: OciProbe };
    return memory.conditions === conditions ? memory.probe : undefined;
  } catch {
    return undefined;
  }
}

function remember(conditions: string, probe: OciProbe): OciProbe {
  mkdirSync(dirname(MEMORY_FILE), { recursive: true, mode: 0o755 });
  writeFileSync(`${MEMORY_FILE}.${process.pid}`, JSON.stringify({ conditions, probe }));
  renameSync(`${MEMORY_FILE}.${process.pid}`, MEMORY_FILE);
  return probe;
}

const SAMPLE = {
  template: DEFAULT_TEMPLATE,
  workspace: "workspace",
  home: "home",
  runtimeDir: "runtime",
  egress: "egress",
  userIds: { root: 1, user: 2 },
  cgroupsPath: "probe",
  env: { PATH: PLAIN_PATH },
  args: ["/bin/true"],
};

async function tryRuntime(runtime: string, scratch: string): Promise<string | undefined> {
  const id = `probe-${process.pid}`;
  const cgroups = openCgroups("berth-probe");
  const folder = (name: string) => {
    mkdirSync(join(scratch, name), { recursive: true });
    return join(scratch, name);
  };
  try {
    const config = bundleConfig({
      ...SAMPLE,
      root: prepareHostRoot(ROOTS_DIR),
      workspace: folder(SAMPLE.workspace),
      home: folder(SAMPLE.home),
      runtimeDir: folder(SAMPLE.runtimeDir),
      egress: folder(SAMPLE.egress),
      userIds: pickUserIds(new Set()),
      cgroupsPath: cgroups.pathOf(id),
    });
    // Nobody owns these folders inside, so the probe starts at the root.
    config.process.cwd = "/";
    writeFileSync(join(scratch, "config.json"), JSON.stringify(config));
    const { code, output } = await run(runtime, ["--root", join(scratch, "state"), "run", "--bundle", scratch, id], { timeoutMs: 20_000 });
    return code === 0 ? undefined : (output.split("\n").at(-1)?.slice(0, 300) ?? `ended with ${code}`);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await cgroups.kill(id);
    await cgroups.remove(id);
  }
}

function findProgram(name: string): string | undefined {
  if (isAbsolute(name)) return existsSync(name) ? name : undefined;
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...PLAIN_PATH.split(":")];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}
