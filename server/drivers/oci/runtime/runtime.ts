import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { run } from "../../host/run.ts";
import type { ProcessLimits } from "../../host/host-limits.ts";
import { kindOf } from "./runtime-kinds.ts";
import { withPrivateMounts } from "./private-mounts.ts";

// An OCI runtime. It is asked only to start containers; its state folders are ours, one for each container, so that no
// other user of the same runtime meets our containers.
export interface Runtime {
  // Starts the container of the bundle and resolves when it runs on its own.
  start(id: string, options: StartOptions, signal: AbortSignal): Promise<void>;
  // Forgets a container whose processes are gone.
  forget(id: string): void;
  list(): string[];
}

interface StartOptions {
  bundle: string;
  pidFile: string;
  limits: ProcessLimits;
  // Folders that the runtime is to find on the stage (private-mounts.ts).
  staged: Record<string, string> | undefined;
}

export function createRuntime(command: string, stateDir: string, timeoutMs: number): Runtime {
  return {
    async start(id, { bundle, pidFile, limits, staged }, signal) {
      const logFile = join(bundle, "runtime.log");
      rmSync(logFile, { force: true });
      const args = [
        "--root",
        join(stateDir, id),
        "--log",
        logFile,
        "--log-format",
        "json",
        ...kindOf(command).flags,
        "run",
        "--detach",
        "--bundle",
        bundle,
        "--pid-file",
        pidFile,
        id,
      ];
      // Quiet: the container inherits the runtime's output and would keep a pipe open as long as it lives.
      const { code } = await run(...commandLine(command, args, { limits, staged }), { signal, timeoutMs, quiet: true });
      if (code !== 0) throw new Error(`${command} could not start the container: ${readErrors(logFile)}`);
    },
    forget(id) {
      rmSync(join(stateDir, id), { recursive: true, force: true });
    },
    list: () => (existsSync(stateDir) ? readdirSync(stateDir) : []),
  };
}

// The command line that runs the runtime so that its container has the limits and finds the staged folders.
export function commandLine(
  command: string,
  args: readonly string[],
  { limits, staged }: Pick<StartOptions, "limits" | "staged">,
): [string, string[]] {
  const [program, rest] = withPrivateMounts(staged, command, args);
  if (!kindOf(command).inheritsLimits) return [program, rest];
  const { openFiles, pendingSignals, messageQueueBytes } = limits;
  const values = { nofile: openFiles, sigpending: pendingSignals, msgqueue: messageQueueBytes, core: 0 };
  return ["prlimit", [...Object.entries(values).map(([name, value]) => `--${name}=${value}:${value}`), program, ...rest]];
}

function readErrors(logFile: string): string {
  const lines = (read(logFile) ?? "").trim().split("\n").slice(-3);
  return lines.map((line) => /"msg":"((?:[^"\\]|\\.)*)"/.exec(line)?.[1] ?? line).join("; ") || "no reason given";
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
