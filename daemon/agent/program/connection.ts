import { randomBytes } from "node:crypto";
import { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import {
  type AnyMessage,
  client,
  type ClientContext,
  type CompleteElicitationNotification,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  type InitializeResponse,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { withTimeout } from "../../io/with-timeout.ts";
import { hasExited, type Program, startProgram, stopProgram } from "../../programs/program.ts";
import { VERSION } from "@berth/contract/version.ts";

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
  // `signal`: the agent no longer asks.
  elicitation(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse>;
  elicitationComplete(notification: CompleteElicitationNotification): void;
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

const running = new Set<Program>();
export const runningPids = (): number[] => [...running].flatMap(({ pid }) => pid ?? []);

export async function connectAgent({ command, args, env, cwd, timeoutMs, handlers }: ConnectOptions): Promise<AgentConnection> {
  const runId = randomBytes(16).toString("hex");
  const program = startProgram([command, ...args], { cwd, env: { ...env, [MARK]: runId } });
  running.add(program);
  const ended = watchEnd(program).finally(() => running.delete(program));
  const failedToSpawn = new Promise<never>((_, reject) => program.once("error", (error) => reject(startError(command, error))));

  const stream = ndJsonStream(
    Writable.toWeb(program.stdin) as WritableStream<Uint8Array>,
    Readable.toWeb(program.stdout) as ReadableStream<Uint8Array>,
  );
  // The library reports an error for kinds of updates that it does not know, which newer agents may send.
  const known = new TransformStream<AnyMessage, AnyMessage>({
    transform(message, controller) {
      if (!isOfNewerKind(message)) controller.enqueue(message);
    },
  });
  const { agent } = client({ name: "berth" })
    .onNotification(methods.client.session.update, ({ params }) => handlers.update(params))
    .onRequest(methods.client.session.requestPermission, ({ params }) => handlers.permission(params))
    .onRequest(methods.client.elicitation.create, ({ params, signal }) => handlers.elicitation(params, signal))
    .onNotification(methods.client.elicitation.complete, ({ params }) => handlers.elicitationComplete(params))
    .connect({ writable: stream.writable, readable: stream.readable.pipeThrough(known) });

  const kill = () => stopProgram(program);
  try {
    const initialized = Promise.race([
      agent.request(methods.agent.initialize, {
        protocolVersion: PROTOCOL_VERSION,
        clientInfo: { name: "berth", version: VERSION },
        // No `fs`: two edits of one file would read it before either writes, and its texts cannot carry every encoding.
        clientCapabilities: {
          fs: { readTextFile: false, writeTextFile: false },
          terminal: false,
          elicitation: { form: {}, url: {} },
          session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
          auth: { terminal: true },
          _meta: { "terminal-auth": true },
        },
      }),
      failedToSpawn,
      endedEarly(command, ended),
    ]);
    const about = await withTimeout(initialized, timeoutMs, () => tooSlow(command, timeoutMs));
    return { agent, about, startedAtMs: Date.now(), pid: program.pid ?? 0, mark: `${MARK}=${runId}`, ended, kill };
  } catch (error) {
    // A closed pipe is often the first sign that the process has exited. Wait for the exit, which explains more.
    await Promise.race([ended, delay(EXIT_GRACE_MS, undefined, { ref: false })]);
    if (!(error instanceof AgentStartError) && hasExited(program)) await endedEarly(command, ended);
    kill();
    throw error instanceof AgentStartError
      ? error
      : new AgentStartError(`The agent does not speak the Agent Client Protocol: ${messageOf(error)}`, { retryable: true });
  }
}

const UPDATE_KINDS: readonly string[] = [
  "user_message_chunk",
  "agent_message_chunk",
  "agent_thought_chunk",
  "tool_call",
  "tool_call_update",
  "plan",
  "available_commands_update",
  "current_mode_update",
  "config_option_update",
  "session_info_update",
  "usage_update",
  "notice",
  "compaction_update",
  "compaction_summary_chunk",
] satisfies SessionUpdate["sessionUpdate"][];

function isOfNewerKind(message: AnyMessage): boolean {
  if (!("method" in message) || message.method !== methods.client.session.update) return false;
  const kind = (message.params as { update?: { sessionUpdate?: unknown } } | null)?.update?.sessionUpdate;
  return typeof kind === "string" && !UPDATE_KINDS.includes(kind);
}

function watchEnd(program: Program): Promise<AgentEnd> {
  let stderrTail = "";
  program.stderr.setEncoding("utf8").on("data", (text: string) => (stderrTail = (stderrTail + text).slice(-MAX_STDERR_TAIL)));
  return new Promise((resolve) => program.once("exit", (code, signal) => resolve({ code, signal, stderrTail })));
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
