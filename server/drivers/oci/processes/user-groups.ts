import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { cgroupPrefix, openCgroups, type Cgroups } from "../cgroups/cgroups.ts";
import type { DelegatedGroup } from "../cgroups/delegated-group.ts";
import { openProcessGroups, type ProcessGroups } from "./process-groups.ts";

export interface UserGroupsOptions {
  dataDir: string;
  stateDir: string;
  // The parent of the control groups of new sandboxes. Absent: they get none.
  delegated: DelegatedGroup | undefined;
}

// The processes of the sandboxes of an ordinary user. Each sandbox keeps what it was started with, a control group or none, and earlier
// servers may have been in other groups: systemd gives each start of the server another one.
export function openUserGroups({ dataDir, stateDir, delegated }: UserGroupsOptions): ProcessGroups {
  const sandboxesDir = join(dataDir, "sandboxes");
  const recorded = createRecordedGroups(sandboxesDir);
  const trees = openProcessGroups({ stateDir, sandboxesDir });
  const { path: parent, limitsCpu } = delegated ?? {};
  const groups = openCgroups(cgroupPrefix(dataDir), undefined, {
    recorded: (id) => recorded(id)?.path,
    ...(parent !== undefined && { parent, limitsCpu }),
  });
  const of = (id: string): Cgroups => {
    const record = recorded(id);
    return (record ? record.path !== undefined : delegated !== undefined) ? groups : trees;
  };
  return {
    treeOf: trees.treeOf,
    groupOf: (id) => (delegated ? groups.groupOf(id) : undefined),
    prepare: (id, limits) => of(id).prepare(id, limits),
    limitWrites: (id, device, bytesPerSecond) => of(id).limitWrites(id, device, bytesPerSecond),
    unlimitWrites() {},
    setLimits: (id, limits) => of(id).setLimits(id, limits),
    heldMemoryBytes: (id) => of(id).heldMemoryBytes(id),
    pids: (id) => of(id).pids(id),
    isAlive: (id) => of(id).isAlive(id),
    has: (id, pid) => of(id).has(id, pid),
    isFrozen: (id) => of(id).isFrozen(id),
    freeze: (id, signal) => of(id).freeze(id, signal),
    thaw: (id) => of(id).thaw(id),
    kill: (id) => of(id).kill(id),
    remove: (id) => of(id).remove(id),
    cpuMs: (id) => of(id).cpuMs(id),
    closeCpu: groups.closeCpu,
    isBackground: (id) => of(id).isBackground(id),
    enterBackground: (id) => of(id).enterBackground(id),
    leaveBackground: (id, weight) => of(id).leaveBackground(id, weight),
    stats: (id) => of(id).stats(id),
    unwrittenBytes: (id) => of(id).unwrittenBytes(id),
    list: () => (delegated ? groups.list() : []),
    memoryLimitOf: trees.memoryLimitOf,
    [Symbol.asyncDispose]: () => groups[Symbol.asyncDispose](),
  };
}

interface Recorded {
  // undefined: the sandbox has no control group.
  path: string | undefined;
  modifiedMs: number;
}

// The group of each sandbox according to its bundle, which is written before the group exists.
function createRecordedGroups(sandboxesDir: string): (id: string) => Recorded | undefined {
  const known = new Map<string, Recorded>();
  return (id) => {
    const file = join(sandboxesDir, id, "config.json");
    const modifiedMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (modifiedMs === undefined) return void known.delete(id);
    const cached = known.get(id);
    if (cached?.modifiedMs === modifiedMs) return cached;
    const read = { path: readGroup(file), modifiedMs };
    known.set(id, read);
    return read;
  };
}

function readGroup(file: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(file, "utf8")) as { linux: { cgroupsPath?: string } }).linux.cgroupsPath;
  } catch {
    // A crash has interrupted the write, so the runtime has not started.
    return undefined;
  }
}
