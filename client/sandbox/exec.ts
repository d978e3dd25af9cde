import { BerthError, ConnectionError } from "../http/errors.ts";
import { jsonLines } from "../http/streams.ts";
import type { Transport } from "../http/transport.ts";
import type { ExecEvent, ExecOptions, ExecResult } from "../types/sandbox-types.ts";

// The sandbox sends this instead of `exit` if the command could not be started, or if the session was paused or
// destroyed. The client throws it.
interface NoExit {
  type: "error";
  message: string;
  code?: "session_paused" | "session_not_found";
}

// Yields output as it arrives; the last event is `exit`. Leaving the loop kills the command.
export async function* execStream(
  send: Transport,
  sandboxUrl: string,
  command: string | string[],
  options: ExecOptions = {},
): AsyncGenerator<ExecEvent> {
  const { signal, ...rest } = options;
  const response = await send({ method: "POST", url: `${sandboxUrl}/exec`, json: { command, ...rest }, signal, streaming: true });
  for await (const event of jsonLines<ExecEvent | NoExit>(response)) {
    if (event.type === "error") throw new BerthError(event.message, { code: event.code ?? "exec_failed" });
    yield event;
    if (event.type === "exit") return;
  }
  throw new ConnectionError("The connection closed before the command exited", { code: "connection_failed" });
}

export interface Collected extends ExecOptions {
  onStdout?: (text: string) => void;
  onStderr?: (text: string) => void;
}

// Resolves with the complete output when the command has exited. A failed command does not throw: check `exitCode`.
export async function exec(
  send: Transport,
  sandboxUrl: string,
  command: string | string[],
  { onStdout, onStderr, ...options }: Collected = {},
): Promise<ExecResult> {
  const result: ExecResult = { stdout: "", stderr: "", exitCode: null, signal: null, timedOut: false };
  for await (const event of execStream(send, sandboxUrl, command, options)) {
    if (event.type === "stdout") {
      result.stdout += event.data;
      onStdout?.(event.data);
    } else if (event.type === "stderr") {
      result.stderr += event.data;
      onStderr?.(event.data);
    } else if (event.type === "exit") {
      result.exitCode = event.code;
      result.signal = event.signal;
      result.timedOut = event.timedOut ?? false;
    }
  }
  return result;
}
