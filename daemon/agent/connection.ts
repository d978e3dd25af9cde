import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import {
  client,
  type ClientContext,
  type InitializeResponse,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
} from "@agentclientprotocol/sdk";
import { withTimeout } from "../io/with-timeout.ts";
import { preferForOomKill } from "../processes/oom-score.ts";
import { signalGroup } from "../processes/signal-group.ts";

// One process of the agent, connected over the Agent Client Protocol on its standard input and output.
export interface AgentConnection {
  readonly agent: ClientContext;
  readonly about: InitializeResponse;
  readonly startedAtMs: number;
  readonly pid: number;
  // A variable that everything this process starts inherits, with a value of its own.
  readonly mark: string;
  // Resolves when the process has exited, with the end of its stderr.
  readonly ended: Promise<AgentEnd>;
  kill(): void;
}

export interface AgentEnd {
  code: number | null;
  signal: string | null;
  stderrTail: string;
}

export interface ConnectOptions {
  command: string;
  args: string[];
  env: Record<string, string>;
  cwd: string;
  // The deadline for the answer to the first request.
  timeoutMs: number;
  handlers: AgentHandlers;
}

export interface AgentHandlers {
  update(notification: SessionNotification): void;
  permission(request: RequestPermissionRequest): Promise<RequestPermissionResponse>;
}

// The message is for the user.
export class AgentStartError extends Error {
  readonly retryable: boolean;
  constructor(message: string, { retryable }: { retryable: boolean }) {
    super(message);
    this.name = "AgentStartError";
    this.retryable = retryable;
  }
}

const MARK = "BERTH_AGENT_RUN";
const MAX_STDERR_TAIL = 4096;
const EXIT_GRACE_MS = 500;
const KILL_GRACE_MS = 2000;

const running = new Set<Child>();
// Kill the agents when the daemon exits.
process.on("exit", () => running.forEach((child) => child.pid !== undefined && signalGroup(child.pid, "SIGKILL")));

export const runningPids = (): number[] => [...running].flatMap(({ pid }) => pid ?? []);

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export async function connectAgent({ command, args, env, cwd, timeoutMs, handlers }: ConnectOptions): Promise<AgentConnection> {
  const runId = randomBytes(16).toString("hex");
  const child = spawn(command, args, {
    env: { ...env, [MARK]: runId },
    cwd,
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  preferForOomKill(child.pid);
  running.add(child);
  const ended = watchEnd(child).finally(() => running.delete(child));
  const failedToSpawn = new Promise<never>((_, reject) => child.once("error", (error) => reject(startError(command, error))));
  child.stdin.on("error", () => {});

  const stream = ndJsonStream(
    Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
    Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
  );
  const { agent } = client({ name: "berth" })
    .onNotification(methods.client.session.update, ({ params }) => handlers.update(params))
    .onRequest(methods.client.session.requestPermission, ({ params }) => handlers.permission(params))
    .connect(stream);

  const kill = () => killGroup(child);
  try {
    const initialized = Promise.race([
      agent.request(methods.agent.initialize, {
        protocolVersion: PROTOCOL_VERSION,
        clientInfo: { name: "berth", version: "0.1.0" },
        // No `fs`: two edits of one file would read it before either writes, and its texts cannot carry every encoding.
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      }),
      failedToSpawn,
      endedEarly(command, ended),
    ]);
    const about = await withTimeout(initialized, timeoutMs, () => tooSlow(command, timeoutMs));
    return { agent, about, startedAtMs: Date.now(), pid: child.pid ?? 0, mark: `${MARK}=${runId}`, ended, kill };
  } catch (error) {
    // A closed pipe is often the first sign that the process has exited. Wait for the exit, which explains more.
    await Promise.race([ended, delay(EXIT_GRACE_MS, undefined, { ref: false })]);
    if (!(error instanceof AgentStartError) && hasExited(child)) await endedEarly(command, ended);
    kill();
    throw error instanceof AgentStartError
      ? error
      : new AgentStartError(`The agent does not speak the Agent Client Protocol: ${messageOf(error)}`, { retryable: true });
  }
}

const hasExited = (child: Child) => child.exitCode !== null || child.signalCode !== null;

function watchEnd(child: Child): Promise<AgentEnd> {
  let stderrTail = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderrTail = (stderrTail + text).slice(-MAX_STDERR_TAIL)));
  return new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal, stderrTail })));
}

async function endedEarly(command: string, ended: Promise<AgentEnd>): Promise<never> {
  const { code, signal, stderrTail } = await ended;
  const lastLine = stderrTail.trim().split("\n").at(-1)?.slice(0, 300);
  throw new AgentStartError(
    `The agent (${command}) exited during its start with ${code === null ? signal : `code ${code}`}${lastLine ? `: ${lastLine}` : ""}`,
    { retryable: true },
  );
}

function tooSlow(command: string, timeoutMs: number): AgentStartError {
  const seconds = Math.round(timeoutMs / 1000);
  return new AgentStartError(`The agent (${command}) did not answer within ${seconds} seconds`, { retryable: false });
}

function startError(command: string, error: NodeJS.ErrnoException): AgentStartError {
  // availability.ts has found the program, so usually its interpreter is missing.
  if (error.code === "ENOENT")
    return new AgentStartError(`The agent's command, or its interpreter, was not found: ${command}`, { retryable: false });
  if (error.code === "EACCES") return new AgentStartError(`The agent's command cannot be executed: ${command}`, { retryable: false });
  return new AgentStartError(`The agent could not be started (${error.code ?? error.message})`, { retryable: true });
}

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

function killGroup(child: Child): void {
  const { pid } = child;
  if (pid === undefined || hasExited(child)) return;
  signalGroup(pid, "SIGTERM");
  const timer = setTimeout(() => signalGroup(pid, "SIGKILL"), KILL_GRACE_MS);
  child.once("exit", () => clearTimeout(timer));
}
