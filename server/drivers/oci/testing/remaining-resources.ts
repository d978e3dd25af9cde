import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";

// For tests: finds the mounts, loop devices, control groups, processes and files of a sandbox that still exist on this machine.
export function findRemainingResources(dataDir: string, id: string): string[] {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const files = ["sandboxes", "containers", "egress"].map((name) => join(dataDir, name, id)).filter((path) => existsSync(path));
  return [...[...mounts, ...loopFiles(), ...cgroups(), ...processes()].filter((line) => line.includes(id)), ...files];
}

function loopFiles(): string[] {
  return readdirSync("/sys/block").map((name) => read(`/sys/block/${name}/loop/backing_file`));
}

function cgroups(): string[] {
  const hierarchies = ["/sys/fs/cgroup", ...readdirSync("/sys/fs/cgroup").map((name) => join("/sys/fs/cgroup", name))];
  return hierarchies.filter((path) => statSync(path).isDirectory()).flatMap((path) => readdirSync(path).map((name) => join(path, name)));
}

function processes(): string[] {
  // A zombie that waits for the host's first process does not count.
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && !/\) Z /.test(read(`/proc/${name}/stat`)));
  return pids.map((pid) => `${pid} ${read(`/proc/${pid}/cmdline`)} ${read(`/proc/${pid}/cgroup`)}`);
}

const read = (path: string) => readFileIfReadable(path) ?? "";
