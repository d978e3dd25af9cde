import type { ServerResponse } from "node:http";
import type { Process, ProcessEvent, StartProcess } from "@berth/contract/daemon/processes.ts";
import { AppError, isAppError } from "@berth/contract";
import { splitLines } from "../../../bounded-io/split-lines.ts";
import type { LinkResponse } from "../../../daemon-link/daemon-links.ts";
import { beginStream, endStream, invalid, sendMessage, type Json } from "./connect.ts";
import type { DaemonCalls } from "../../daemon-calls.ts";

// E2B's service `process.Process`, over the processes of the session.

export interface StreamCall {
  calls: DaemonCalls;
  response: ServerResponse;
  // The time that the caller gives the call; null: as long as it takes.
  timeoutMs: number | null;
  keepAliveMs: number;
  // Waits, if the sandbox has sent more than its share.
  admitBytes: (bytes: number) => Promise<void>;
}

const PROCESS = { id: "string", pid: "number", outputBytes: "number", cwd: "string" } as const;
const MAX_LINE_LENGTH = 256 * 1024;
const KILL_WAIT_MS = 1000;
const MAX_TIMEOUT_MS = 24 * 3600 * 1000;

// Starts a process. It goes on when the caller disconnects, and ends with the caller's timeout.
export async function startProcess(body: Json, call: StreamCall): Promise<void> {
  const { process: config, pty, tag, stdin } = body as { process?: Json; pty?: Json; tag?: string; stdin?: boolean };
  const { cmd, args = [], envs = {}, cwd } = config ?? {};
  if (typeof cmd !== "string" || !Array.isArray(args)) throw invalid("process.cmd is required");
  const started: StartProcess = {
    args: [cmd, ...(args as string[])],
    env: envs as Record<string, string>,
    ...(cwd !== undefined && { cwd: cwd as string }),
    ...(tag !== undefined && { name: tag }),
    ...(pty ? { pty: sizeOf(pty) } : { stdin: stdin ?? true }),
    ...(call.timeoutMs !== null && { timeoutMs: Math.min(call.timeoutMs, MAX_TIMEOUT_MS) }),
  };
  const headers = { accept: "text/event-stream" };
  const events = await call.calls.open("POST", "/processes", { query: { encoding: "base64" }, headers, body: started });
  await relayEvents(events, call, pty ? "pty" : null);
}

// Follows a process, from now on.
export async function connectProcess(body: Json, call: StreamCall): Promise<void> {
  const process = await call.calls.read<Process>("GET", pathOf(body), PROCESS);
  const events = await call.calls.open("GET", `/processes/${encodeURIComponent(process.id)}/events`, {
    query: { encoding: "base64" },
    headers: { "last-event-id": String(process.outputBytes) },
  });
  const { timeoutMs, response } = call;
  const endLate = () => {
    endStream(response, { error: TOO_LATE });
    events.body.destroy();
  };
  const timer = timeoutMs === null ? undefined : setTimeout(endLate, timeoutMs);
  await relayEvents(events, call, process.pty ? "pty" : null, process.pid).finally(() => clearTimeout(timer));
}

const TOO_LATE = new AppError("request_timeout", { message: "The time of the call is over" });

async function relayEvents({ body }: LinkResponse, call: StreamCall, output: "pty" | null, pid?: number): Promise<void> {
  const { response, keepAliveMs, admitBytes } = call;
  beginStream(response);
  if (pid !== undefined) sendMessage(response, { event: { start: { pid } } });
  const keepAlive = setInterval(() => sendMessage(response, { event: { keepalive: {} } }), keepAliveMs);
  try {
    for await (const line of splitLines(body, MAX_LINE_LENGTH)) {
      if (!line.startsWith("data: ")) continue;
      const event = JSON.parse(line.slice("data: ".length)) as ProcessEvent;
      if (event.type === "end") return endStream(response, { last: { event: { end: endOf(event.process) } } });
      const message = toMessage(event, output);
      if (message && !sendMessage(response, { event: message })) await drained(response);
      if (response.destroyed) return;
      await admitBytes(line.length);
    }
    throw new Error("the sandbox was paused or is gone");
  } catch {
    // A stream that is cut makes SDKs ask whether the sandbox still runs.
    if (!response.writableEnded) response.destroy();
  } finally {
    clearInterval(keepAlive);
    body.destroy();
  }
}

function toMessage(event: Exclude<ProcessEvent, { type: "end" }>, output: "pty" | null): Json | null {
  switch (event.type) {
    case "start":
      return { start: { pid: event.process.pid } };
    case "output":
      return { data: { [output ?? event.stream]: event.data } };
    case "dropped":
      return null;
  }
}

function endOf({ exitCode, signal, status }: Process): Json {
  if (exitCode !== null) return { exitCode, exited: true, status: `exit status ${exitCode}` };
  const reason = status === "lost" ? "the sandbox was stopped" : `signal: ${SIGNALS[signal ?? ""] ?? signal}`;
  return { exitCode: -1, exited: false, status: reason, error: reason };
}

// As Go, in which E2B's daemon is written, calls them.
const SIGNALS: Record<string, string> = { SIGKILL: "killed", SIGTERM: "terminated", SIGINT: "interrupt", SIGHUP: "hangup" };

type Unary = (body: Json, calls: DaemonCalls) => Promise<object>;

export const PROCESS_CALLS: Record<string, Unary> = {
  async List(_body, calls) {
    const { processes } = await calls.read<{ processes: Process[] }>("GET", "/processes", { processes: [PROCESS] });
    const running = processes.filter(({ status }) => status === "running");
    return {
      processes: running.map(({ pid, name, command, cwd }) => {
        const [cmd = "", ...args] = [command].flat();
        return { pid, config: { cmd, args, envs: {}, cwd }, ...(name !== null && { tag: name }) };
      }),
    };
  },

  async SendInput(body, calls) {
    const { stdin, pty } = (body["input"] ?? {}) as { stdin?: string; pty?: string };
    const bytes = Buffer.from(stdin ?? pty ?? "", "base64");
    // Nothing to send, but the process must exist.
    if (bytes.length === 0) await calls.call("GET", pathOf(body));
    else await calls.call("POST", `${pathOf(body)}/stdin`, { body: bytes });
    return {};
  },

  async CloseStdin(body, calls) {
    await calls.call("POST", `${pathOf(body)}/stdin/close`);
    return {};
  },

  async SendSignal(body, calls) {
    const { signal: given } = body;
    const name = given === "SIGNAL_SIGTERM" || given === 15 ? "SIGTERM" : given === "SIGNAL_SIGKILL" || given === 9 ? "SIGKILL" : null;
    if (name === null) throw invalid("signal must be SIGNAL_SIGTERM or SIGNAL_SIGKILL");
    await calls.call("POST", `${pathOf(body)}/signal`, { body: { signal: name } });
    if (name === "SIGKILL") await waitForEnd(body, calls);
    return {};
  },

  async Update(body, calls) {
    if (body["pty"]) await calls.call("POST", `${pathOf(body)}/resize`, { body: sizeOf(body["pty"] as Json) });
    return {};
  },
};

// Programs look at once whether the process that they have killed is gone. One that has ended no longer has its number.
async function waitForEnd(body: Json, calls: DaemonCalls): Promise<void> {
  await calls.call("POST", `${pathOf(body)}/wait`, { query: { timeoutMs: String(KILL_WAIT_MS) } }).catch((error: unknown) => {
    if (!isAppError(error, "not_found")) throw error;
  });
}

// A process is named by its number or by its tag.
function pathOf({ process }: Json): string {
  const { pid, tag } = (process ?? {}) as { pid?: unknown; tag?: unknown };
  if (Number.isInteger(pid)) return `/processes/${pid as number}`;
  if (typeof tag === "string" && tag !== "") return `/processes/${encodeURIComponent(`~${tag}`)}`;
  throw invalid("process.pid or process.tag is required");
}

function sizeOf({ size }: Json): { cols: number; rows: number } {
  const { cols, rows } = (size ?? {}) as { cols?: number; rows?: number };
  return { cols: cols ?? 80, rows: rows ?? 24 };
}

export const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    if (response.destroyed) resolve();
    else response.on("drain", done).on("close", done);
  });
