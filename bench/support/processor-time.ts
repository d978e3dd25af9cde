import { readdirSync, readFileSync } from "node:fs";

const TICKS_PER_S = 100;

// The processor time that the threads of a process have used, in milliseconds, to the nanosecond.
export function processorMs(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = tasks.map((task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]));
  return nanoseconds.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

// The same for the programs that the process has started and that have ended, in steps of ten milliseconds.
export function childrenMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return ((Number(fields[13]) + Number(fields[14])) / TICKS_PER_S) * 1000;
}

// Processor time of all processes on the machine.
export function machineMs(): number {
  const [, user, nice, system, , , irq, softirq] = readFileSync("/proc/stat", "utf8").split("\n")[0]!.split(/\s+/).map(Number);
  return ((user! + nice! + system! + irq! + softirq!) / TICKS_PER_S) * 1000;
}
