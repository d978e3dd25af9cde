import { type ChildProcessByStdio, spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import {
  client,
  type ClientContext,
  type InitializeResponse,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type ReadTextFileRequest,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
  type WriteTextFileRequest,
} from "@agentclientprotocol/sdk";
import { preferForOomKill } from "../processes/oom-score.ts";

// One run of the agent's program, spoken to over the Agent Client Protocol on its standard input and output.
export interface AgentConnection {
  readonly agent: ClientContext;
  readonly about: InitializeResponse;
  readonly startedAtMs: number;
  // Resolves when the program has ended, with what it last said on stderr.
  readonly ended: Promise<AgentEnd>;
  kill(): void;
}

export interface AgentEnd {
  code: number | null;
  signal: string | null;
  lastWords: string;
}

export interface ConnectOptions {
  command: string;
  args: string[];
  env: Record<string, string>;
  cwd: string;
  // How long the program may take to answer its first request.
  timeoutMs: number;
  handlers: AgentHandlers;
}

export interface AgentHandlers {
  update(notification: SessionNotification): void;
  permission(request: RequestPermissionRequest): Promise<RequestPermissionResponse>;
  readFile(request: ReadTextFileRequest): Promise<string>;
  writeFile(request: WriteTextFileRequest): Promise<void>;
}

// Why the program could not be started; the message is for people.
export class AgentStartError extends Error {
  // Whether another try might help.
  readonly hopeless: boolean;
  constructor(message: string, hopeless: boolean) {
    super(message);
    this.name = "AgentStartError";
    this.hopeless = hopeless;
  }
}

const running = new Set<Child>();
// The daemon's end is the agent's.
process.on("exit", () => running.forEach((child) => child.pid !== undefined && signalGroup(-child.pid, "SIGKILL")));

export const runningPids = (): number[] => [...running].flatMap(({ pid }) => pid ?? []);

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export async function connectAgent({ command, args, env, cwd, timeoutMs, handlers }: ConnectOptions): Promise<AgentConnection> {
  const child = spawn(command, args, { env, cwd, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  preferForOomKill(child.pid);
  running.add(child);
  const ended = watchEnd(child).finally(() => running.delete(child));
  const failedToStart = new Promise<never>((_, reject) => child.once("error", (error) => reject(startError(command, error))));
  child.stdin.on("error", () => {});

  const stream = ndJsonStream(
    Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
    Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
  );
  const { agent } = client({ name: "berth" })
    .onNotification(methods.client.session.update, ({ params }) => handlers.update(params))
    .onRequest(methods.client.session.requestPermission, ({ params }) => handlers.permission(params))
    .onRequest(methods.client.fs.readTextFile, async ({ params }) => ({ content: await handlers.readFile(params) }))
    .onRequest(methods.client.fs.writeTextFile, async ({ params }) => (await handlers.writeFile(params), {}))
    .connect(stream);

  const kill = () => killGroup(child);
  try {
    const about = await Promise.race([
      agent.request(methods.agent.initialize, {
        protocolVersion: PROTOCOL_VERSION,
        clientInfo: { name: "berth", version: "0.1.0" },
        clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: false },
      }),
      failedToStart,
      endedEarly(command, ended),
      tooSlow(command, timeoutMs),
    ]);
    return { agent, about, startedAtMs: Date.now(), ended, kill };
  } catch (error) {
    // A closed pipe is often the first sign of a program's end; the end itself says more.
    await Promise.race([ended, delay(500)]);
    if (!(error instanceof AgentStartError) && hasEnded(child)) await endedEarly(command, ended);
    kill();
    throw error instanceof AgentStartError
      ? error
      : new AgentStartError(`The agent does not speak the Agent Client Protocol: ${messageOf(error)}`, false);
  }
}

const hasEnded = (child: Child) => child.exitCode !== null || child.signalCode !== null;

const MAX_LAST_WORDS = 4096;

function watchEnd(child: Child): Promise<AgentEnd> {
  let lastWords = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (lastWords = (lastWords + text).slice(-MAX_LAST_WORDS)));
  return new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal, lastWords })));
}

async function endedEarly(command: string, ended: Promise<AgentEnd>): Promise<never> {
  const { code, signal, lastWords } = await ended;
  const said = lastWords.trim().split("\n").at(-1)?.slice(0, 300);
  throw new AgentStartError(
    `The agent (${command}) ended at its start with ${code === null ? signal : `code ${code}`}${said ? `: ${said}` : ""}`,
    false,
  );
}

function tooSlow(command: string, timeoutMs: number): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(
      () => reject(new AgentStartError(`The agent (${command}) did not answer within ${Math.round(timeoutMs / 1000)} seconds`, true)),
      timeoutMs,
    ).unref();
  });
}

function startError(command: string, error: NodeJS.ErrnoException): AgentStartError {
  // It was found before (availability.ts), so most often this is what the program itself needs.
  if (error.code === "ENOENT") return new AgentStartError(`The agent's command, or its interpreter, was not found: ${command}`, true);
  if (error.code === "EACCES") return new AgentStartError(`The agent's command cannot be executed: ${command}`, true);
  return new AgentStartError(`The agent could not be started (${error.code ?? error.message})`, false);
}

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

function killGroup(child: Child): void {
  if (child.pid === undefined || hasEnded(child)) return;
  const group = -child.pid;
  signalGroup(group, "SIGTERM");
  const timer = setTimeout(() => signalGroup(group, "SIGKILL"), 2000);
  child.once("exit", () => clearTimeout(timer));
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(group, signal);
  } catch {
    // Gone in this very moment.
  }
}
