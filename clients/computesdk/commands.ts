import { TIMEOUT_EXIT_CODE, type CommandResult, type RunCommandOptions } from "@computesdk/provider";
import type { ExecResult, Session } from "../../client/index.ts";

// Runs a command line. Its output arrives at the callbacks while it runs. In the background it goes on without its caller, and its output
// can be read with the session's `processes`.
export async function runCommand(session: Session, command: string, options: RunCommandOptions = {}): Promise<CommandResult> {
  const { cwd, env, timeout: timeoutMs, background = false, onStdout, onStderr } = options;
  const startedMs = performance.now();
  const line = cwd === undefined ? command : ["/bin/sh", "-c", IN_FOLDER, "sh", cwd, command];
  const limits = { ...(env && { env }), ...(timeoutMs !== undefined && { timeoutMs }) };
  if (background) await session.processes.start(line, limits);
  const result = background
    ? STARTED
    : await session.exec(line, { ...limits, ...(onStdout && { onStdout }), ...(onStderr && { onStderr }) });
  const { stdout, stderr } = result;
  return { stdout, stderr, exitCode: exitCodeOf(result), durationMs: performance.now() - startedMs };
}

// The folder of a command in Berth is one of the workspace. That of ComputeSDK may be any folder of the sandbox.
const IN_FOLDER = 'cd -- "$1" && exec /bin/sh -c "$2"';

const STARTED: ExecResult = { stdout: "", stderr: "", exitCode: 0, signal: null, timedOut: false };

// The signals from 1 on, in the order of Linux.
const SIGNALS = "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM".split(" ").map((name) => `SIG${name}`);

// ComputeSDK knows no signals, so a command that one has ended gets the code that a shell would report.
function exitCodeOf({ exitCode, signal, timedOut }: ExecResult): number {
  if (timedOut) return TIMEOUT_EXIT_CODE;
  return exitCode ?? 129 + SIGNALS.indexOf(signal ?? "");
}
