import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { readFileIfReadable } from "../../bounded-io/read-small-file.ts";
import { findSubIds } from "../host/rootless/sub-ids.ts";
import { PLAIN_PATH, run } from "../host/run.ts";
import { bundleConfig } from "./bundle.ts";
import { processLimits } from "../host/isolation/host-limits.ts";
import { prepareHostRoot } from "./filesystem/root.ts";
import { kindOf, RUNTIME_NAMES, type RuntimeName } from "./runtime/runtime-kinds.ts";
import { commandLine } from "./runtime/runtime.ts";
import { FILTERED_ARCHITECTURES } from "../host/isolation/seccomp.ts";
import { findUnrestrictedMounts, unrestrictedMountsError } from "./filesystem/unrestricted-mounts.ts";
import { privateMountPaths } from "./runtime/private-mounts.ts";
import { delegatedGroup, type DelegatedGroup } from "./cgroups/delegated-group.ts";
import { asRoot, ROOTS_OF_ROOT, type Privileges } from "./privileges/privileges.ts";
import { asOrdinaryUser, worksWithoutRoot } from "./privileges/ordinary-user.ts";
import { pairMappings } from "./users/id-mappings.ts";
import { USER } from "./users/user-ids.ts";
import { probeDisks } from "../host/disks/sandbox-disks.ts";

export type OciProbe = { usable: false; reason: string } | { usable: true; reason: string; runtime: string; boundDisks: boolean };

export type OciRuntime = "auto" | RuntimeName;

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
  const isRoot = process.getuid?.() === 0;
  const names = (wanted === "auto" ? RUNTIME_NAMES : [wanted]).filter((name) => isRoot || worksWithoutRoot(name));
  if (names.length === 0) return { usable: false, reason: `${wanted} needs the server to run as root; runc does not.` };
  const found = names.map(findProgram).filter((path) => path !== undefined);
  if (found.length === 0) return { usable: false, reason: `Not installed: ${names.join(", ")} (apt install ${names[0]}).` };
  if (isRoot) return await probeAsRoot(found);
  try {
    return await probeWithoutRoot(found);
  } catch (error) {
    // Such as a machine without a writable temporary folder. Another driver may work there.
    return { usable: false, reason: `Containers could not be tried without root (${String(error)}).` };
  }
}

async function probeAsRoot(found: readonly string[]): Promise<OciProbe> {
  const conditions = describeConditions(found);
  const previous = readCache(conditions);
  if (previous) return previous;
  return await withScratch(async (scratch) => {
    const tried = await tryRuntimes(found, scratch, asRoot);
    if (!tried.runtime) return { usable: false, reason: `No container could be started (${tried.failures}).` };
    const disks = await probeDisks(join(scratch, "disk"));
    const reason = `${tried.runtime} runs containers here; ${disks.reason}.`;
    return writeCache(conditions, { usable: true, runtime: tried.runtime, boundDisks: disks.bounded, reason });
  });
}

function probeWithoutRoot(found: readonly string[]): Promise<OciProbe> {
  return withScratch(async (scratch) => {
    const [subIds, claimed] = [findSubIds(), await delegatedGroup()];
    const delegated = "group" in claimed ? claimed.group : undefined;
    await using privileges = asOrdinaryUser(scratch, subIds, delegated);
    const tried = await tryRuntimes(found, scratch, privileges);
    if (!tried.runtime)
      return { usable: false, reason: namespacesRefusal() ?? `No container could be started without root (${tried.failures}).` };
    const users =
      "ids" in subIds ? "each sandbox has its own user id" : `all sandboxes have the user id of this server, because ${subIds.missing}`;
    return {
      usable: true,
      runtime: tried.runtime,
      boundDisks: false,
      reason: `${tried.runtime} runs containers here without root; ${users}; ${describeLimits(delegated)}.${delegated ? "" : groupHint()}`,
    };
  });
}

function describeLimits(delegated: DelegatedGroup | undefined): string {
  if (!delegated) return "processes are limited, memory and disk are watched, processor time has no limit";
  const limited = delegated.limitsCpu ? "processes, memory and processor time are limited" : "processes and memory are limited";
  return `${limited} by a control group of systemd, ${delegated.limitsCpu ? "" : "processor time has no limit, "}disk is watched`;
}

// Users can get a control group from their own systemd.
const groupHint = (): string =>
  existsSync(`/run/user/${process.getuid?.()}/systemd/private`)
    ? " The kernel limits all but the disk if the server is started with `systemd-run --user --scope -p Delegate=yes`."
    : "";

// Distributions and operators can turn off what an ordinary user needs: Debian, any machine, and Ubuntu.
const NAMESPACE_SETTINGS = [
  { name: "kernel.unprivileged_userns_clone", off: "0", on: "1" },
  { name: "user.max_user_namespaces", off: "0", on: "15000" },
  { name: "kernel.apparmor_restrict_unprivileged_userns", off: "1", on: "0" },
];

function namespacesRefusal(): string | undefined {
  const found = NAMESPACE_SETTINGS.find(({ name, off }) => readFileIfReadable(`/proc/sys/${name.replace(".", "/")}`)?.trim() === off);
  if (!found) return undefined;
  return `This machine does not let ordinary users create user namespaces; root can allow it with \`sysctl ${found.name}=${found.on}\`.`;
}

async function withScratch(work: (scratch: string) => Promise<OciProbe>): Promise<OciProbe> {
  const scratch = mkdtempSync(join(tmpdir(), "berth-probe-"));
  try {
    return await work(scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

// The first runtime that works, or why each of them does not.
async function tryRuntimes(
  found: readonly string[],
  scratch: string,
  privileges: Privileges,
): Promise<{ runtime?: string; failures: string }> {
  const failures: string[] = [];
  for (const runtime of found) {
    const failure = await tryRuntime(runtime, scratch, privileges);
    if (failure === undefined) return { runtime, failures: "" };
    failures.push(`${runtime}: ${failure}`);
  }
  return { failures: failures.join("; ") };
}

// Everything that the result depends on: the boot of the machine, the runtimes, and the settings of a sandbox.
function describeConditions(runtimes: readonly string[]): string {
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const settings = runtimes.map((path) => {
    const kind = kindOf(path);
    return JSON.stringify([path, statSync(path).mtimeMs, kind, bundleConfig({ ...SAMPLE, kind, root: ROOTS_OF_ROOT })]);
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
  hasHostPrograms: true,
  user: { uid: USER, gid: USER },
  namespace: { mappings: pairMappings({ root: 1, user: 2 }) },
  group: { path: "probe", limitsCpu: true },
  env: { PATH: PLAIN_PATH },
  args: ["/bin/cat", "/proc/self/mountinfo"],
};

// Runs a container to its end. Returns the reason if that fails.
async function tryRuntime(runtime: string, scratch: string, privileges: Privileges): Promise<string | undefined> {
  const id = `probe-${process.pid}`;
  const stateDir = join(scratch, "state");
  await using cgroups = privileges.openGroups({ dataDir: scratch, stateDir, onExceeded() {} });
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
    const stagedFolders = kind.opaque ? { ...folders, control: folder("control") } : undefined;
    const userIds = privileges.ids.idsOf(privileges.ids.pick(new Set(), { sharesFiles: false }));
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    await using userNamespace = kind.opaque ? undefined : await privileges.openUserNamespace(userIds, signal);
    const config = bundleConfig({
      ...SAMPLE,
      kind,
      root: prepareHostRoot(privileges.rootsDir, privileges.user),
      ...(stagedFolders ? privateMountPaths(stagedFolders) : folders),
      user: { uid: privileges.user, gid: privileges.user },
      namespace: userNamespace?.enter ? "entered" : { mappings: pairMappings(userIds), path: userNamespace?.path },
      group: cgroups.groupOf(id),
    });
    // The user of the sandbox does not own the workspace of the probe, so start in the root folder.
    config.process.cwd = "/";
    writeFileSync(join(scratch, "config.json"), JSON.stringify(config));
    const args = ["--root", stateDir, ...kind.flags, "run", "--bundle", scratch, id];
    const limits = processLimits(SAMPLE.template);
    const enter = userNamespace?.enter;
    const privateMounts = stagedFolders && { folders: stagedFolders };
    const { code, output } = await run(...commandLine(runtime, args, { limits, privateMounts, ...(enter && { enter }) }), { signal });
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
