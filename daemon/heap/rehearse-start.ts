import { createHash } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { TOKEN_HEADER } from "@berth/contract/daemon.ts";
import { openDaemon } from "../daemon.ts";
import { listen } from "../http/listen.ts";
import { childProcess } from "../programs/child-process.ts";
import type { CLibrary } from "../../native/spawn/c-library.ts";
import { spawnWith } from "../../native/spawn/spawn.ts";
import { collectWhenIdle } from "./collect-when-idle.ts";

const TOKEN = "rehearsal";
const IDLE_WITHIN_MS = 10_000;

// Opens a daemon and calls it as every sandbox is called first, while build.ts makes the snapshot. V8 compiles a function when it is
// called, so the snapshot gets the code of exactly these functions, which saves a third of the processor time of a start and a first
// command. Everything that this daemon has opened must be closed in the end, and no module may keep anything of it.
export async function rehearseStart(): Promise<void> {
  await forgetCode();
  const folder = mkdtempSync(join(tmpdir(), "berth-rehearsal-"));
  const openBefore = openResources();
  const clearTimers = collectTimers();
  try {
    await spawnWith(libraryWithoutPrograms(folder), () => callDaemon(folder));
    await useSocket(join(folder, "socket"));
    await untilIdle(openBefore);
  } finally {
    clearTimers();
    rmSync(folder, { recursive: true });
  }
  // Node remembers when its next timer is due, even if that was cleared, until another one fires. Timers of the daemons that start from
  // the snapshot would wait for it.
  await sleep(1);
}

// From now on, V8 compiles all functions of a module when it loads the module, and not each at its first call. Node writes the code of its
// modules into the snapshot after the rehearsal, so those that every daemon loads at its start have all of it (snapshot-file.ts).
export const compileAtOnce = (): void => process.getBuiltinModule("node:v8").setFlagsFromString("--no-lazy");

// Returns a function that clears all timers that were set since.
function collectTimers(): () => void {
  const { setInterval, setTimeout } = globalThis;
  const timers: NodeJS.Timeout[] = [];
  const collect = (set: (...args: never[]) => NodeJS.Timeout) =>
    Object.assign((...args: never[]) => {
      const timer = set(...args);
      timers.push(timer);
      return timer;
    }, set);
  Object.assign(globalThis, { setInterval: collect(setInterval), setTimeout: collect(setTimeout) });
  return () => {
    Object.assign(globalThis, { setInterval, setTimeout });
    timers.forEach(clearTimeout);
  };
}

// Resolves when nothing is under way, and everything is closed that was not open before.
async function untilIdle(openBefore: number): Promise<void> {
  const deadline = Date.now() + IDLE_WITHIN_MS;
  while (openResources() > openBefore) {
    if (Date.now() > deadline) throw new Error(`The rehearsal left something open: ${process.getActiveResourcesInfo().join(", ")}`);
    await setImmediate();
  }
}

function openResources(): number {
  // Every socket opens these when it is closed, to compare itself with them.
  void [process.stdout, process.stderr];
  return process.getActiveResourcesInfo().filter((resource) => resource !== "Immediate").length;
}

// Drops the code of functions that only the build calls.
async function forgetCode(): Promise<void> {
  const { queryObjects, setFlagsFromString } = process.getBuiltinModule("node:v8");
  await setImmediate();
  setFlagsFromString("--stress-flush-code");
  // It collects all garbage.
  queryObjects(EventEmitter);
  setFlagsFromString("--no-stress-flush-code");
}

async function callDaemon(folder: string): Promise<void> {
  const env = { BERTH_TOKEN_HASH: createHash("sha256").update(TOKEN).digest("hex"), BERTH_WORKSPACE: folder, BERTH_HOME: folder };
  const server = new EventEmitter();
  openDaemon(env, server as never);
  collectWhenIdle(server as never);
  const call = async (method: string, url: string, { body = "", accept = "application/json", token = TOKEN, isRefused = false } = {}) => {
    const headers = { [TOKEN_HEADER]: token, accept };
    const request = Object.assign(Readable.from([Buffer.from(body)]), { method, url, headers });
    const response = new RehearsedResponse();
    const finished = new Promise((resolve) => response.once("finish", resolve));
    server.emit("request", request, response);
    await finished;
    const { status, text } = response;
    if (isRefused !== status >= 300) throw new Error(`The rehearsal of ${method} ${url} was answered with ${status}: ${text}`);
  };
  // A driver asks like this whether the daemon answers at all.
  await call("GET", "/health", { token: "", isRefused: true });
  await call("POST", "/internal/start", { body: JSON.stringify({ env: {}, agent: null, autoStartAgent: false }) });
  await call("POST", "/exec", { body: JSON.stringify({ command: "true" }) });
  await call("POST", "/internal/rehearse", { body: JSON.stringify({ command: "true" }), accept: "text/event-stream" });
  await call("PUT", "/files/content?path=file", { body: "text" });
  await call("GET", "/files/content?path=file");
  await call("GET", "/files?path=");
}

// `node:http` cannot be in a snapshot, but what it calls for every connection can.
async function useSocket(path: string): Promise<void> {
  const server = createServer((socket) => {
    socket.setTimeout(IDLE_WITHIN_MS);
    socket.once("data", () => {
      socket.cork();
      socket.write("head");
      socket.write("body");
      socket.uncork();
      socket.end();
    });
  });
  listen(server, { path });
  await once(server, "listening");
  const socket = connect(path);
  socket.resume().write("request");
  await once(socket, "close");
  server.close();
  await once(server, "close");
}

// In place of a response of `node:http`.
class RehearsedResponse extends Writable {
  status = 0;
  text = "";

  writeHead(status: number): this {
    this.status = status;
    return this;
  }

  setHeader(): this {
    return this;
  }

  flushHeaders(): void {}

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.text += chunk.toString();
    callback();
  }
}

// Native parts cannot be in a snapshot either. All programs of this library have already ended, and their pipes are FIFOs.
function libraryWithoutPrograms(folder: string): CLibrary {
  let pipes = 0;
  let childEnded = () => {};
  return {
    pipe() {
      const path = join(folder, `pipe${pipes++}`);
      childProcess().execFileSync("mkfifo", [path]);
      const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      return [read, openSync(path, constants.O_WRONLY)];
    },
    spawn() {
      setTimeout(() => childEnded());
      // More than the kernel gives to any process.
      return 2 ** 30;
    },
    reap: () => 0,
    onChildEnd: (listener) => (childEnded = listener),
  };
}
