import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

// For tests: whatever is left on this machine of a sandbox that is gone. Mounts, loop devices, control groups, processes
// and files.
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
  // One that has ended and waits to be collected by the host's first process is not left.
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && !/\) Z /.test(read(`/proc/${name}/stat`)));
  return pids.map((pid) => `${pid} ${read(`/proc/${pid}/cmdline`)} ${read(`/proc/${pid}/cgroup`)}`);
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
