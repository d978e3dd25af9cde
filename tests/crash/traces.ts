import { existsSync, lstatSync, readdirSync, readlinkSync, readFileSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";
import { isSandboxId } from "@berth/contract";
import { cgroupPrefix, openCgroups } from "../../server/drivers/oci/cgroups/cgroups.ts";
import { RANGE_SIZE } from "../../server/drivers/oci/users/id-mappings.ts";
import { assignedIdRanges } from "../../server/drivers/oci/users/id-ranges.ts";
import { assignedUserIds, isSandboxUserId } from "../../server/drivers/oci/users/user-ids.ts";

// Something on this machine that belongs to a sandbox of the installation, even if the store does not know that sandbox.
export interface Trace {
  id: string;
  what: string;
}

// Finds folders, user ids, mounts, loop devices, control groups and processes.
export function findTraces(dataDir: string): Trace[] {
  const place = realpathSync(dataDir);
  const prefix = cgroupPrefix(place);
  const named = (line: string, what: string): Trace[] => (line.includes(place) ? idsIn(line).map((id) => ({ id, what })) : []);
  const folders = ["sandboxes", "containers", "egress"].flatMap((name) =>
    entriesOf(join(place, name))
      .filter(isSandboxId)
      .map((id) => ({ id, what: `the folder ${name}/${id}` })),
  );
  const users = [...assignedUserIds(join(place, "sandboxes"))].map(([id, ids]) => ({ id, what: `the user id ${ids.user}` }));
  const mounts = linesOf("/proc/self/mountinfo").flatMap((line) => named(line, "a mount"));
  const loops = entriesOf("/sys/block").flatMap((name) => named(read(`/sys/block/${name}/loop/backing_file`), `the loop device ${name}`));
  const groups = openCgroups(prefix)
    .list()
    .map((id) => ({ id, what: "a control group" }));
  const processes = findProcesses(place, prefix).flatMap(({ pid, ids }) => ids.map((id) => ({ id, what: `process ${pid}` })));
  return [...folders, ...users, ...mounts, ...loops, ...groups, ...processes];
}

// Checks the user ids: no two sandboxes share one, and every process and file with a sandbox's user id belongs to a sandbox.
export function findStrayUserIds(dataDir: string): string[] {
  const place = realpathSync(dataDir);
  // A sandbox may be created or removed between these two lists, so only sandboxes without a row in both are strays.
  const processes = findProcesses(place, cgroupPrefix(place));
  const files = ownersOf(place, 4);
  const pairs = [...assignedUserIds(join(place, "sandboxes")).values()];
  const given = new Set(pairs.flatMap(({ root, user }) => [root, user]));
  const ranges = assignedIdRanges(join(place, "sandboxes"));
  const stray = (id: number) => isSandboxUserId(id) && !given.has(id) && !ranges.some((first) => id >= first && id < first + RANGE_SIZE);
  return [
    ...(given.size < 2 * pairs.length ? ["two sandboxes have the same user ids"] : []),
    ...processes.flatMap(({ pid, users }) => users.filter(stray).map((id) => `process ${pid} runs as ${id}, which no sandbox has`)),
    ...files.filter(({ owner }) => stray(owner)).map(({ path, owner }) => `${path} belongs to ${owner}, which no sandbox has`),
  ];
}

interface Process {
  pid: string;
  // Its sandboxes, by its control group and by the folders that are mounted for it.
  ids: string[];
  // Every user and group id that it has or can switch back to.
  users: number[];
}

// The processes of this installation's sandboxes. A zombie holds nothing, so it does not count.
function findProcesses(place: string, prefix: string): Process[] {
  return entriesOf("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      const status = read(`/proc/${pid}/status`);
      const users = [...status.matchAll(/^(?:Uid|Gid|Groups):(.*)$/gm)].flatMap(([, ids]) => ids!.trim().split(/\s+/).map(Number));
      const grouped = linesOf(`/proc/${pid}/cgroup`).filter((line) => line.includes(prefix));
      // Reads the mounts of sandboxed processes alone, because there are many processes with long lists. The process that creates
      // a user namespace for another installation has the ids of a sandbox and the mounts of the host.
      const isSandboxed = users.some(isSandboxUserId) && mountNamespaceOf(pid) !== mountNamespaceOf("self");
      const seen = isSandboxed ? linesOf(`/proc/${pid}/mountinfo`).filter((line) => line.includes(basename(place))) : [];
      const ended = /^State:\s+[ZX]/m.test(status);
      return { pid, users, ids: ended ? [] : [...new Set([...grouped, ...seen].flatMap(idsIn))] };
    })
    .filter(({ ids }) => ids.length > 0);
}

function mountNamespaceOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/mnt`);
  } catch {
    return "";
  }
}

function ownersOf(folder: string, depth: number): { path: string; owner: number }[] {
  return entriesOf(folder).flatMap((name) => {
    const path = join(folder, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (!stats) return [];
    return [{ path, owner: stats.uid }, ...(stats.isDirectory() && depth > 1 ? ownersOf(path, depth - 1) : [])];
  });
}

const idsIn = (text: string): string[] => (text.match(/sbx_[0-9a-z]{26}/g) ?? []).filter(isSandboxId);
const linesOf = (path: string): string[] => read(path).split("\n");

function entriesOf(folder: string): string[] {
  try {
    return existsSync(folder) ? readdirSync(folder) : [];
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
