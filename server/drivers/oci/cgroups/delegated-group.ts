import { accessSync, constants, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";
import { PLAIN_PATH, run } from "../../host/run.ts";

// A control group that systemd has given to a server without root, so that it may create groups for its sandboxes in it.
export interface DelegatedGroup {
  // Below the mount point of the hierarchy.
  path: string;
  // Whether processor time is limited there. Memory and processes always are.
  limitsCpu: boolean;
}

export type FoundGroup = { group: DelegatedGroup } | { missing: string };

export interface DelegatedGroupOptions {
  // OCI runtimes use version 2 only if it is mounted here.
  hierarchy?: string;
  // The group of this process.
  own?: string | undefined;
  needed?: readonly string[];
  isDelegated?(path: string): Promise<boolean>;
}

// A group that limits its children cannot contain processes itself, so those of the server move to this child.
const OWN = "berth-server";
const MOVE_ATTEMPTS = 100;
const SHOW_TIMEOUT_MS = 15_000;
let ofThisProcess: Promise<FoundGroup> | undefined;

// Caches the first answer: the driver must do what its probe has reported, even if systemd answers late.
export const delegatedGroup = (): Promise<FoundGroup> => (ofThisProcess ??= claimDelegatedGroup());

// Takes over the group of the unit in which this process runs, if systemd has delegated it: all its processes move to a group inside it.
// Idempotent. Other groups stay as they are: systemd may change the settings of a group that it has not delegated at any time.
export async function claimDelegatedGroup(options: DelegatedGroupOptions = {}): Promise<FoundGroup> {
  const { hierarchy = "/sys/fs/cgroup", own = readOwnGroup(), needed = ["memory", "pids"], isDelegated = askSystemd } = options;
  const path = own !== undefined && basename(own) === OWN ? dirname(own) : own;
  const controllers =
    path === undefined
      ? undefined
      : readFileIfReadable(join(hierarchy, path, "cgroup.controllers"))
          ?.trim()
          .split(" ");
  if (path === undefined || controllers === undefined) return { missing: "this machine does not use cgroup v2 alone" };
  const folder = join(hierarchy, path);
  if (!isWritable(folder) || !(await isDelegated(path))) return { missing: "systemd has not delegated a control group to this server" };
  const lacking = needed.filter((name) => !controllers.includes(name));
  if (lacking.length > 0) return { missing: `the control group of this server does not limit ${lacking.join(" and ")}` };
  const used = [...needed, "cpu"].filter((name) => controllers.includes(name));
  try {
    await moveProcesses(folder);
    writeFileSync(join(folder, "cgroup.subtree_control"), used.map((name) => `+${name}`).join(" "));
  } catch (error) {
    return { missing: `the control group of this server could not be used (${String(error)})` };
  }
  return { group: { path, limitsCpu: used.includes("cpu") } };
}

// Repeats, because processes may start others in the meantime.
async function moveProcesses(folder: string): Promise<void> {
  mkdirSync(join(folder, OWN), { recursive: true });
  const readPids = () => (readFileIfReadable(join(folder, "cgroup.procs")) ?? "").split("\n").filter(Boolean);
  let pids = readPids();
  for (let attempt = 0; pids.length > 0; attempt++, pids = readPids()) {
    if (attempt === MOVE_ATTEMPTS) throw new Error(`process ${pids[0]} stays in ${folder}`);
    for (const pid of pids) moveIfRunning(join(folder, OWN), pid);
    await sleep(1);
  }
}

function moveIfRunning(group: string, pid: string): void {
  try {
    writeFileSync(join(group, "cgroup.procs"), pid);
  } catch (error) {
    // It has already ended.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

// The group in version 2. undefined if controllers are in version 1, or if the group is outside of what this process sees.
function readOwnGroup(): string | undefined {
  const lines = (readFileIfReadable("/proc/self/cgroup") ?? "").trim().split("\n");
  const path = lines.length === 1 ? /^0::(\/.*)$/.exec(lines[0]!)?.[1] : undefined;
  return path?.includes("/..") ? undefined : path;
}

function isWritable(folder: string): boolean {
  try {
    for (const name of [".", "cgroup.procs", "cgroup.subtree_control"]) accessSync(join(folder, name), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

async function askSystemd(path: string): Promise<boolean> {
  const unit = basename(path);
  if (!/\.(?:scope|service)$/.test(unit)) return false;
  const manager = path.includes(`/user@${process.getuid?.()}.service/`) ? ["--user"] : [];
  const env = { PATH: PLAIN_PATH, LC_ALL: "C", XDG_RUNTIME_DIR: `/run/user/${process.getuid?.()}` };
  try {
    const args = [...manager, "show", "--property=Delegate", "--value", "--", unit];
    return (await run("systemctl", args, { env, timeoutMs: SHOW_TIMEOUT_MS })).output.trim() === "yes";
  } catch {
    return false;
  }
}
