import { readdirSync, readFileSync } from "node:fs";

const TICKS_PER_S = 100;

// The processor time that the threads of a process have used, in milliseconds, to the nanosecond.
export function processorMs(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = tasks.map((task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]));
  return nanoseconds.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

// The same for the programs that the process has started, with those that they have started in turn, in steps of ten milliseconds.
// Only those that have ended count, and the process that runs programs for the server (server/drivers/host/run-worker.ts).
export function childrenMs(pid: number): number {
  const workers = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isRunWorkerOf(pid, Number(name)));
  return endedMs(pid) + workers.reduce((sum, worker) => sum + processorMs(Number(worker)) + endedMs(Number(worker)), 0);
}

function isRunWorkerOf(server: number, pid: number): boolean {
  try {
    return Number(statOf(pid)[1]) === server && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("run-worker.ts");
  } catch {
    // It has ended.
    return false;
  }
}

function endedMs(pid: number): number {
  const fields = statOf(pid);
  return ((Number(fields[13]) + Number(fields[14])) / TICKS_PER_S) * 1000;
}

// The fields of /proc/{pid}/stat after the name, which may contain spaces.
function statOf(pid: number): string[] {
  const line = readFileSync(`/proc/${pid}/stat`, "utf8");
  return line.slice(line.lastIndexOf(")") + 2).split(" ");
}

// The processor time of all processes that the control group of a process has had.
export function controlGroupMs(pid: number): number {
  const groups = readFileSync(`/proc/${pid}/cgroup`, "utf8").trim().split("\n");
  const accounting = groups.find((line) => /^\d+:([^:]*,)?cpuacct[,:]/.test(line))?.split(":");
  if (accounting) return Number(readFileSync(`/sys/fs/cgroup/${accounting[1]}${accounting[2]}/cpuacct.usage`, "utf8")) / 1e6;
  const unified = groups.find((line) => line.startsWith("0::"))!.slice("0::".length);
  const [, microseconds] = /^usage_usec (\d+)$/m.exec(readFileSync(`/sys/fs/cgroup${unified}/cpu.stat`, "utf8"))!;
  return Number(microseconds) / 1000;
}

// Processor time of all processes on the machine but this one, which is the client.
export function machineMs(): number {
  const [, user, nice, system, , , irq, softirq] = readFileSync("/proc/stat", "utf8").split("\n")[0]!.split(/\s+/).map(Number);
  return ((user! + nice! + system! + irq! + softirq!) / TICKS_PER_S) * 1000 - ownMs();
}

export function ownMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
