import { readdirSync, readFileSync } from "node:fs";
import { afterAll, expect, vi } from "vitest";
import { runChecksAfterFile } from "./after-file.ts";

// The processes that end with the worker that runs the files.
const ENDING_WITH_WORKER = ["esbuild", "run-worker.ts", "berth-shared-postgres", "berth-shared-server", "--berth-shared-browser"];

// Every test file fails if it leaves a child process, a listening socket or something on a shared server behind. A worker may run
// several files, so only new processes and sockets count.
const childrenBefore = new Set(children());
const serversBefore = servers();
// Processes that are ending may take this long on a busy machine.
const LEAVE_MS = 20_000;

afterAll(async () => {
  try {
    await runChecksAfterFile();
  } finally {
    await checkProcess();
  }
});

async function checkProcess(): Promise<void> {
  await vi.waitFor(() => expect(leftProcesses(), "processes left running").toEqual([]), { timeout: LEAVE_MS });
  await vi.waitFor(() => expect(servers(), "listening sockets left open").toBeLessThanOrEqual(serversBefore), { timeout: LEAVE_MS });
}

function leftProcesses(): string[] {
  return children().filter((child) => !childrenBefore.has(child));
}

function servers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPServerWrap" || name === "PipeServerWrap").length;
}

function children(): string[] {
  if (process.platform !== "linux") return [];
  // The kernel lists the children of each thread. Reading the parents of all processes takes twenty times as long.
  const pids = readdirSync("/proc/self/task").flatMap((thread) => read(`/proc/self/task/${thread}/children`)?.match(/\d+/g) ?? []);
  return pids.map((pid) => `${pid} ${commandOf(pid)}`).filter((child) => !ENDING_WITH_WORKER.some((name) => child.includes(name)));
}

function commandOf(pid: string): string {
  return (read(`/proc/${pid}/cmdline`) ?? "").replaceAll("\0", " ").trim();
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
