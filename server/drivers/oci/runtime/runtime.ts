import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { run } from "../../host/run.ts";
import { withLimits, type ProcessLimits } from "../../host/isolation/host-limits.ts";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";
import type { UserNamespace } from "../users/user-namespace.ts";
import { kindOf } from "./runtime-kinds.ts";
import { withPrivateMounts, type PrivateMounts } from "./private-mounts.ts";

// An OCI runtime. The driver uses it only to start containers. Each container has its own state folder in our data folder, so other
// users of the same runtime do not see it.
export interface Runtime {
  // Starts the container of the bundle, and resolves when the container runs detached.
  start(id: string, options: StartOptions, signal: AbortSignal): Promise<void>;
  // Removes the runtime's state of a container whose processes have ended. No-op if there is none. Synchronous, because the state is
  // one file in two folders: `rm` without `Sync` makes ten trips to another thread for them.
  forget(id: string): void;
  has(id: string): boolean;
  // The ids of all containers that have state.
  list(): string[];
}

interface StartOptions {
  bundle: string;
  pidFile: string;
  limits: ProcessLimits;
  // Folders that the runtime sees through private-mounts.ts.
  privateMounts: PrivateMounts | undefined;
  // See UserNamespace.
  enter?: UserNamespace["enter"];
}

export function createRuntime(command: string, stateDir: string, timeoutMs: number): Runtime {
  return {
    async start(id, { bundle, pidFile, privateMounts, ...options }, signal) {
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
      const mounts = privateMounts && { ...privateMounts, errorFile: logFile };
      // Quiet, because the container inherits the runtime's output and would keep a pipe open while it runs.
      const { code } = await run(...commandLine(command, args, { ...options, privateMounts: mounts }), { signal, timeoutMs, quiet: true });
      if (code !== 0) throw new Error(`${command} could not start the container: ${readErrors(logFile)}`);
    },
    forget: (id) => rmSync(join(stateDir, id), { recursive: true, force: true }),
    has: (id) => existsSync(join(stateDir, id)),
    list: () => (existsSync(stateDir) ? readdirSync(stateDir) : []),
  };
}

// The command line that starts the runtime with the resource limits and the private mounts, inside a user namespace if it must be.
export function commandLine(
  command: string,
  args: readonly string[],
  { enter, ...options }: Pick<StartOptions, "limits" | "privateMounts" | "enter">,
): [string, string[]] {
  const line = limitedCommandLine(command, args, options);
  return enter ? enter(...line) : line;
}

function limitedCommandLine(
  command: string,
  args: readonly string[],
  { limits, privateMounts }: Pick<StartOptions, "limits" | "privateMounts">,
): [string, string[]] {
  const [program, rest] = withPrivateMounts(privateMounts, command, args);
  if (!kindOf(command).inheritsLimits) return [program, rest];
  const [first = "", ...others] = withLimits(limits, [program, ...rest]);
  return [first, others];
}

function readErrors(logFile: string): string {
  const lines = (readFileIfReadable(logFile) ?? "").trim().split("\n").slice(-3);
  return lines.map((line) => /"msg":"((?:[^"\\]|\\.)*)"/.exec(line)?.[1] ?? line).join("; ") || "no reason given";
}
