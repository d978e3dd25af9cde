import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { run } from "../run.ts";

// An OCI runtime: runc, crun or runsc. It is asked only to start containers; its state folder is ours, so that no other
// user of the same runtime meets our containers.
export interface Runtime {
  // Starts the container of the bundle and resolves when it runs on its own.
  start(id: string, bundle: string, pidFile: string, signal: AbortSignal): Promise<void>;
  // Forgets a container whose processes are gone.
  forget(id: string): void;
  // Ends runtimes that a server which died had started for this sandbox: they would finish their work behind our back.
  endStragglers(id: string): Promise<void>;
  list(): string[];
}

const START_TIMEOUT_MS = 30_000;

export function createRuntime(command: string, stateDir: string): Runtime {
  return {
    async start(id, bundle, pidFile, signal) {
      const logFile = join(bundle, "runtime.log");
      rmSync(logFile, { force: true });
      const args = [
        "--root",
        stateDir,
        "--log",
        logFile,
        "--log-format",
        "json",
        "run",
        "--detach",
        "--bundle",
        bundle,
        "--pid-file",
        pidFile,
        id,
      ];
      // Quiet: the container inherits the runtime's output and would keep a pipe open as long as it lives.
      const { code } = await run(command, args, { signal, timeoutMs: START_TIMEOUT_MS, quiet: true });
      if (code !== 0) throw new Error(`${command} could not start the container: ${readErrors(logFile)}`);
    },
    forget(id) {
      rmSync(join(stateDir, id), { recursive: true, force: true });
    },
    async endStragglers(id) {
      for (let left = findStragglers(stateDir, id); left.length > 0; left = findStragglers(stateDir, id)) {
        for (const pid of left) killIfThere(pid);
        await sleep(2);
      }
    },
    list: () => (existsSync(stateDir) ? readdirSync(stateDir) : []),
  };
}

function findStragglers(stateDir: string, id: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const args = read(`/proc/${pid}/cmdline`)?.split("\0") ?? [];
      return args.includes(id) && args[args.indexOf("--root") + 1] === stateDir;
    });
}

function readErrors(logFile: string): string {
  const lines = (read(logFile) ?? "").trim().split("\n").slice(-3);
  return lines.map((line) => /"msg":"((?:[^"\\]|\\.)*)"/.exec(line)?.[1] ?? line).join("; ") || "no reason given";
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
