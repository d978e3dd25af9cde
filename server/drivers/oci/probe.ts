import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { PLAIN_PATH, run } from "../host/run.ts";
import { bundleConfig } from "./bundle.ts";
import { openCgroups } from "./cgroups/cgroups.ts";
import { processLimits } from "../host/isolation/host-limits.ts";
import { prepareHostRoot } from "./filesystem/root.ts";
import { kindOf, RUNTIME_NAMES, type RuntimeName } from "./runtime/runtime-kinds.ts";
import { commandLine } from "./runtime/runtime.ts";
import { FILTERED_ARCHITECTURES } from "../host/isolation/seccomp.ts";
import { findUnrestrictedMounts, unrestrictedMountsError } from "./filesystem/unrestricted-mounts.ts";
import { privateMountPaths } from "./runtime/private-mounts.ts";
import { pickUserIds } from "./users/user-ids.ts";
import { openUserNamespace } from "./users/user-namespace.ts";
import { probeDisks } from "../host/disks/sandbox-disks.ts";

export type OciProbe = { usable: false; reason: string } | { usable: true; reason: string; runtime: string; boundDisks: boolean };

export type OciRuntime = "auto" | RuntimeName;

export const ROOTS_DIR = "/run/berth/roots";
// Caches a successful probe until the machine restarts, so that the next server starts faster.
const CACHE_FILE = "/run/berth/probe.json";
const cached = new Map<string, Promise<OciProbe>>();

// Checks whether OCI containers work here, by running a container with all settings of a sandbox and by creating a disk. `auto`
// uses the first runtime that works.
export function probeOci(wanted: OciRuntime = "auto"): Promise<OciProbe> {
  // The search path decides which programs are found.
  const key = `${wanted}:${process.env.PATH}`;
  const found = cached.get(key) ?? probe(wanted);
  cached.set(key, found);
  return found;
}

async function probe(wanted: OciRuntime): Promise<OciProbe> {
  if (process.platform !== "linux") return { usable: false, reason: "OCI containers need Linux." };
  if (!FILTERED_ARCHITECTURES.includes(process.arch))
    return { usable: false, reason: `The system call filter supports ${FILTERED_ARCHITECTURES.join(" and ")}, not ${process.arch}.` };
  if (process.getuid?.() !== 0) return { usable: false, reason: "OCI containers need the server to run as root." };
  const names = wanted === "auto" ? RUNTIME_NAMES : [wanted];
  const found = names.map(findProgram).filter((path) => path !== undefined);
  if (found.length === 0) return { usable: false, reason: `Not installed: ${names.join(", ")} (apt install ${names[0]}).` };
  const conditions = describeConditions(found);
  const previous = readCache(conditions);
  if (previous) return previous;
  const failures: string[] = [];
  const scratch = mkdtempSync(join(tmpdir(), "berth-probe-"));
  try {
    for (const runtime of found) {
      const failure = await tryRuntime(runtime, scratch);
      if (failure !== undefined) {
        failures.push(`${runtime}: ${failure}`);
        continue;
      }
      const disks = await probeDisks(join(scratch, "disk"));
      const reason = `${runtime} runs containers here; ${disks.reason}.`;
      return writeCache(conditions, { usable: true, runtime, boundDisks: disks.bounded, reason });
    }
    return { usable: false, reason: `No container could be started (${failures.join("; ")}).` };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

// Everything that the result depends on: the boot of the machine, the runtimes, and the settings of a sandbox.
function describeConditions(runtimes: readonly string[]): string {
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const settings = runtimes.map((path) => {
    const kind = kindOf(path);
    return JSON.stringify([path, statSync(path).mtimeMs, kind, bundleConfig({ ...SAMPLE, kind, root: ROOTS_DIR })]);
  });
  return createHash("sha256")
    .update([boot, ...settings].join("\n"))
    .digest("hex");
}

function readCache(conditions: string): OciProbe | undefined {
  try {
    const entry = JSON.parse(readFileSync(CACHE_FILE, "utf8")) as { conditions: string; probe: OciProbe };
    return entry.conditions === conditions ? entry.probe : undefined;
  } catch {
    return undefined;
  }
}

function writeCache(conditions: string, probe: OciProbe): OciProbe {
  mkdirSync(dirname(CACHE_FILE), { recursive: true, mode: 0o755 });
  writeFileSync(`${CACHE_FILE}.${process.pid}`, JSON.stringify({ conditions, probe }));
  renameSync(`${CACHE_FILE}.${process.pid}`, CACHE_FILE);
  return probe;
}

const TIMEOUT_MS = 20_000;
const SAMPLE = {
  template: DEFAULT_TEMPLATE,
  workspace: "workspace",
  home: "home",
  runtimeDir: "runtime",
  egress: "egress",
  userIds: { root: 1, user: 2 },
  cgroupsPath: "probe",
  env: { PATH: PLAIN_PATH },
  args: ["/bin/cat", "/proc/self/mountinfo"],
};

// Runs a container to its end. Returns the reason if that fails.
async function tryRuntime(runtime: string, scratch: string): Promise<string | undefined> {
  const id = `probe-${process.pid}`;
  const cgroups = openCgroups("berth-probe");
  const folder = (name: string) => {
    mkdirSync(join(scratch, name), { recursive: true });
    return join(scratch, name);
  };
  try {
    const kind = kindOf(runtime);
    const folders = {
      workspace: folder(SAMPLE.workspace),
      home: folder(SAMPLE.home),
      runtimeDir: folder(SAMPLE.runtimeDir),
      egress: folder(SAMPLE.egress),
    };
    const privateMounts = kind.opaque ? { ...folders, control: folder("control") } : undefined;
    const userIds = pickUserIds(new Set());
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    await using userNamespace = kind.opaque ? undefined : await openUserNamespace(userIds, signal);
    const config = bundleConfig({
      ...SAMPLE,
      kind,
      root: prepareHostRoot(ROOTS_DIR),
      ...(privateMounts ? privateMountPaths(privateMounts) : folders),
      userIds,
      userNamespace: userNamespace?.path,
      cgroupsPath: cgroups.pathOf(id),
    });
    // The user of the sandbox does not own the workspace of the probe, so start in the root folder.
    config.process.cwd = "/";
    writeFileSync(join(scratch, "config.json"), JSON.stringify(config));
    const args = ["--root", join(scratch, "state"), ...kind.flags, "run", "--bundle", scratch, id];
    const limits = processLimits(SAMPLE.template);
    const { code, output } = await run(...commandLine(runtime, args, { limits, privateMounts }), { signal });
    const unrestricted = kind.opaque ? [] : findUnrestrictedMounts(output);
    if (unrestricted.length > 0) return unrestrictedMountsError(unrestricted);
    if (code === 0) return undefined;
    // The kernel lacks mount_setattr.
    if (/function not implemented/i.test(output)) return unrestrictedMountsError(["/usr"]);
    const unknownFlag = /flag provided but not defined: -(\S+)/.exec(output)?.[1];
    if (unknownFlag) return `it is too old and does not know --${unknownFlag}`;
    return output.split("\n").at(-1)?.slice(0, 300) ?? `ended with ${code}`;
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
