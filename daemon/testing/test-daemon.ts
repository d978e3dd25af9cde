import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, watch } from "node:fs";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Conversation, ConversationItem } from "@berth/contract/agent.ts";
import { type FileEntry, type ListeningPort, type Terminal, TOKEN_HEADER } from "@berth/contract/daemon.ts";
import { WebSocket } from "ws";
import { snapshotFlags } from "../build.ts";
import { daemonRuntime } from "../../tests/support/runtime.ts";

// A real daemon for tests, built and started as in a sandbox, and reached over its Unix socket.
export interface TestDaemon extends AsyncDisposable {
  readonly workspace: string;
  readonly home: string;
  readonly socketPath: string;
  readonly pid: number;
  fetch<Json = AnyReply>(path: string, options?: FetchOptions): Promise<Reply<Json>>;
  // Resolves when the response starts, for streams.
  open(path: string, options?: FetchOptions): Promise<IncomingMessage>;
  connect(path: string, headers?: Record<string, string>): WebSocket;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  // Starts a new daemon with the same files.
  restart(): Promise<void>;
}

export interface FetchOptions {
  method?: string;
  headers?: Record<string, string>;
  // Objects are sent as JSON.
  body?: string | Buffer | object;
  token?: string | null;
}

export interface Reply<Json> {
  status: number;
  headers: IncomingMessage["headers"];
  trailers: IncomingMessage["trailers"];
  bytes: Buffer;
  text: string;
  json: Json;
}

// The fields of replies that tests read. A test can pass a more precise type.
export interface AnyReply {
  error: string;
  code: string;
  path: string;
  size: number;
  etag: string;
  entries: FileEntry[];
  paths: string[];
  ports: ListeningPort[];
  terminals: Terminal[];
  conversations: Conversation[];
  items: ConversationItem[];
}

const TOKEN = "test-token";

// The command with which init.sh starts the daemon.
const COMMAND = ["{runtime}/host/node", ...snapshotFlags(), "--snapshot-blob", "{runtime}/daemon.blob", "{runtime}/daemon.cjs"];

// `command` can wrap the daemon in another program; {runtime} stands for the runtime folder.
export async function startTestDaemon(env: Record<string, string> = {}, command = COMMAND): Promise<TestDaemon> {
  const runtime = await daemonRuntime();
  const folder = mkdtempSync(join(tmpdir(), "berth-daemon-"));
  const [workspace, home, socketPath] = [join(folder, "workspace"), join(folder, "home"), join(folder, "daemon.sock")];
  let child = await launch();

  async function launch(): Promise<ChildProcess> {
    const [file = "", ...args] = command.map((word) => word.replace("{runtime}", runtime));
    const listening = Promise.withResolvers<void>();
    // The daemon changes the mode of its socket once it listens, and that is its last change in the folder.
    const watcher = watch(folder, () => void answers().then((isReady) => isReady && listening.resolve()));
    const started = spawn(file, args, {
      env: {
        PATH: process.env.PATH,
        HOME: home,
        LANG: "C.UTF-8",
        BERTH_TOKEN_HASH: createHash("sha256").update(TOKEN).digest("hex"),
        BERTH_SOCKET: socketPath,
        BERTH_WORKSPACE: workspace,
        BERTH_HOME: home,
        ...env,
      },
      stdio: ["ignore", "inherit", "inherit"],
    });
    started.once("exit", () => listening.reject(new Error("The daemon exited during its start")));
    await listening.promise.finally(() => watcher.close());
    return started;
  }

  function answers(): Promise<boolean> {
    return open("/health").then(
      (response) => (response.resume(), true),
      () => false,
    );
  }

  function open(path: string, { method = "GET", headers = {}, body, token = TOKEN }: FetchOptions = {}): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const bytes = Buffer.from(typeof body === "object" && !Buffer.isBuffer(body) ? JSON.stringify(body) : (body ?? ""));
      const length = body === undefined ? {} : { "content-length": String(bytes.length) };
      const authorization = token === null ? {} : { [TOKEN_HEADER]: token };
      const request = httpRequest(
        { socketPath, path, method, agent: false, headers: { ...authorization, ...length, ...headers } },
        resolve,
      );
      request.on("error", reject);
      request.end(bytes);
    });
  }

  async function stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const programs = childrenOf(child.pid!);
    child.kill(signal);
    await once(child, "exit");
    // A sandbox ends with its daemon. One that is killed cannot end its programs, and an agent may not notice that it is alone.
    for (const pid of programs) endGroup(pid);
    return child.exitCode;
  }

  return {
    workspace,
    home,
    socketPath,
    get pid() {
      return child.pid ?? 0;
    },
    open,
    async fetch<Json = AnyReply>(path: string, options?: FetchOptions) {
      const response = await open(path, options);
      const chunks: Buffer[] = [];
      for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
      const bytes = Buffer.concat(chunks);
      const text = bytes.toString();
      return {
        status: response.statusCode ?? 0,
        headers: response.headers,
        trailers: response.trailers,
        bytes,
        text,
        json: parseLoosely(text) as Json,
      };
    },
    connect: (path, headers = {}) =>
      new WebSocket(`ws+unix:${socketPath}:${path}`, { headers: { [TOKEN_HEADER]: TOKEN, ...headers }, perMessageDeflate: false }),
    stop,
    async restart() {
      child = await launch();
    },
    async [Symbol.asyncDispose]() {
      await stop("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  } catch {
    // Not Linux.
    return [];
  }
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function parseLoosely(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
