import { setTimeout as delay } from "node:timers/promises";
import { findLockHolder } from "@berth/server/data-folder/data-folder-lock.ts";
import { readProcess } from "@berth/server/drivers/host/process-table.ts";
import { readFileIfReadable } from "@berth/server/bounded-io/read-small-file.ts";

// This is longer than any server takes to stop by itself.
const STOP_TIMEOUT_MS = { local: 20_000, cluster: 55_000 };
// A server that is killed in the end still gets a moment to finish its requests.
const FORCE_TIMEOUT_MS = 5_000;

// Settings that decide which sandboxes a server acts on.
const IDENTIFYING_SETTINGS = [
  "BERTH_DATABASE_URL",
  "BERTH_DATABASE_URL_FILE",
  "BERTH_DRIVER",
  "BERTH_INSTALLATION",
  "BERTH_DOCKER_SOCKET",
  "BERTH_KUBECONFIG",
  "BERTH_KUBERNETES_NAMESPACE",
];

// Returns the process id of the server that uses this data folder, or null. Rejects with a sentence if this command must not stop
// it, because a supervisor would restart it or end this command with it.
export async function findServer(dataDir: string, env: Record<string, string | undefined> = process.env): Promise<number | null> {
  const pid = await findLockHolder(dataDir);
  if (pid === null) return null;
  if (pid === "hidden") throw new Error(`A server uses ${dataDir}, and this user cannot see its process. Stop it first.`);
  if (pid === 1) throw new Error("The server is the first process of this container. Stop the container, then run this in a new one.");
  const unit = /\/([^/\n]+\.service)$/m.exec(read(`/proc/${pid}/cgroup`))?.[1];
  // A unit that contains this command too does not supervise the server.
  if (unit !== undefined && !read("/proc/self/cgroup").includes(unit))
    throw new Error(`The server runs as the unit ${unit}, which would restart it. Stop it first: systemctl stop ${unit}`);
  const different = differences(read(`/proc/${pid}/environ`), env);
  if (different.length > 0)
    throw new Error(
      `The server (process ${pid}) has a different ${different.join(", ")} than this command. Run the command with the settings of the server.`,
    );
  return pid;
}

export const stopTimeout = (driver: string, { force }: { force: boolean }): number =>
  force ? FORCE_TIMEOUT_MS : STOP_TIMEOUT_MS[driver === "kubernetes" ? "cluster" : "local"];

// Sends SIGTERM, so that requests in flight finish. Resolves when the process has ended. A process that does not end in time is killed
// with `force`; otherwise this rejects.
export async function stopServer(pid: number, { timeoutMs, force }: { timeoutMs: number; force: boolean }): Promise<void> {
  const started = readProcess(pid)?.started;
  const isRunning = () => {
    const entry = readProcess(pid);
    return entry !== undefined && entry.started === started && entry.state !== "Z";
  };
  if (isRunning()) process.kill(pid, "SIGTERM");
  for (const endMs = performance.now() + timeoutMs; isRunning(); await delay(50)) {
    if (performance.now() <= endMs) continue;
    if (!force)
      throw new Error(
        `The server (process ${pid}) did not stop within ${timeoutMs / 1000} s, so nothing else was stopped. \`berth down --force\` kills it. Sessions and their files survive that.`,
      );
    process.kill(pid, "SIGKILL");
  }
}

function differences(environ: string, env: Record<string, string | undefined>): string[] {
  const theirs = new Map(environ.split("\0").map((entry) => [entry.split("=", 1)[0], entry.slice(entry.indexOf("=") + 1)]));
  return IDENTIFYING_SETTINGS.filter((name) => (theirs.get(name) ?? "") !== (env[name] ?? ""));
}

const read = (path: string): string => readFileIfReadable(path) ?? "";
