import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex, Readable } from "node:stream";
import { type buildConnector, Pool } from "undici";
import { AppError, isAppError, type SandboxId } from "@berth/contract";
import { TOKEN_HEADER, type StartRequest } from "@berth/contract/daemon.ts";
import { readBody } from "../bounded-io/read-body.ts";
import { createConnectionBoundaries, createConnectionBoundary } from "../faults/connection-boundary.ts";
import type { Driver } from "../drivers/driver.ts";
import type { Log } from "../log.ts";

// How the server talks to the daemons: HTTP over the driver's connections, with the sandbox's token. The peer may be
// frozen, dead or hostile, so every wait has an end and every answer a bound. Failures are AppErrors
// `sandbox_unreachable`; an AppError that a request's body stream fails with, and the reason of an aborted signal, pass
// through as they are.
export interface DaemonLinks extends AsyncDisposable {
  // The answer's body is not read yet: whoever asked must read it to its end or destroy it.
  request(sandboxId: SandboxId, request: LinkRequest): Promise<LinkResponse>;
  // A connection that the daemon has agreed to switch to WebSocket, or its refusal.
  upgrade(sandboxId: SandboxId, request: LinkUpgrade): Promise<Upgraded | Refused>;
  // Tells the daemon what to run with, and that the sandbox is about to be stopped.
  start(sandboxId: SandboxId, start: StartRequest, signal?: AbortSignal): Promise<void>;
  stop(sandboxId: SandboxId, signal?: AbortSignal): Promise<void>;
  // Cuts every connection to the sandbox at once and fails what is in flight. To be called when it is paused, stopped or
  // destroyed: a frozen daemon would hold its callers. The next request begins anew.
  forget(sandboxId: SandboxId): void;
}

export interface LinkRequest {
  method: string;
  // With the query, percent-encoded, as the daemon is to see it.
  path: string;
  headers?: Record<string, string>;
  body?: Readable | Buffer | string;
  // How long the daemon may take until its answer begins, and how long it may be silent within it (0: for ever).
  headersTimeoutMs?: number;
  bodyTimeoutMs?: number;
  signal?: AbortSignal;
}

export interface LinkResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: Readable;
  // Complete once the body has ended.
  trailers: Record<string, string>;
}

export interface LinkUpgrade {
  path: string;
  headers: Record<string, string>;
  signal?: AbortSignal;
}
export interface Upgraded {
  socket: Duplex;
  // What the daemon has sent behind its answer.
  head: Buffer;
  headers: IncomingHttpHeaders;
}
export interface Refused {
  refused: { status: number; headers: IncomingHttpHeaders; body: string };
}

export interface DaemonLinksOptions {
  driver: Pick<Driver, "dial">;
  tokenOf: (sandboxId: SandboxId) => string | Promise<string>;
  log: Log;
  dialTimeoutMs?: number;
  headersTimeoutMs?: number;
}

const MAX_CONNECTIONS = 64;
const MAX_IN_FLIGHT = 256;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_SMALL_BODY_BYTES = 64 * 1024;
const STOP_TIMEOUT_MS = 20_000;

export function createDaemonLinks({
  driver,
  tokenOf,
  log,
  dialTimeoutMs = 5_000,
  headersTimeoutMs = 30_000,
}: DaemonLinksOptions): DaemonLinks {
  const linkBySandbox = new Map<SandboxId, DaemonLink>();
  const boundaryFor = (sandboxId: SandboxId) => ({ log, connection: "link", fields: { sandboxId } });

  function linkTo(sandboxId: SandboxId): DaemonLink {
    const known = linkBySandbox.get(sandboxId);
    if (known) return known;
    const ended = new AbortController();
    const boundaryOf = createConnectionBoundaries(boundaryFor(sandboxId));
    const dial = async () => {
      const socket = await driver.dial(sandboxId, AbortSignal.any([ended.signal, AbortSignal.timeout(dialTimeoutMs)]));
      boundaryOf(socket);
      return socket;
    };
    const link: DaemonLink = { ended, dial, inFlight: 0, sockets: 0, pool: openPool(dial, headersTimeoutMs), token: undefined };
    linkBySandbox.set(sandboxId, link);
    link.pool.on("disconnect", () => dropIdle(sandboxId, link));
    return link;
  }

  // Another server may have ended the sandbox without our hearing of it: a link lives no longer than it is used.
  function dropIdle(sandboxId: SandboxId, link: DaemonLink): void {
    const used = link.inFlight + link.sockets + link.pool.stats.connected > 0;
    if (!used && linkBySandbox.get(sandboxId) === link) forget(sandboxId);
  }

  async function counted<Result>(sandboxId: SandboxId, link: DaemonLink, work: () => Promise<Result>): Promise<Result> {
    if (link.inFlight >= MAX_IN_FLIGHT) throw new AppError("rate_limited", { message: "Too many requests to this sandbox at once" });
    link.inFlight++;
    try {
      return await work();
    } finally {
      link.inFlight--;
      dropIdle(sandboxId, link);
    }
  }

  async function tokenFor(sandboxId: SandboxId, link: DaemonLink): Promise<string> {
    link.token ??= await tokenOf(sandboxId);
    return link.token;
  }

  async function request(sandboxId: SandboxId, asked: LinkRequest): Promise<LinkResponse> {
    const link = linkTo(sandboxId);
    return counted(sandboxId, link, async () => {
      const headers = { ...asked.headers, [TOKEN_HEADER]: await tokenFor(sandboxId, link) };
      const patience = startPatience(asked, asked.headersTimeoutMs ?? headersTimeoutMs);
      try {
        const answer = await link.pool.request({
          method: asked.method,
          path: asked.path,
          headers,
          body: asked.body ?? null,
          signal: patience.signal,
          headersTimeout: asked.headersTimeoutMs ?? headersTimeoutMs,
          bodyTimeout: asked.bodyTimeoutMs ?? headersTimeoutMs,
        });
        createConnectionBoundary(boundaryFor(sandboxId)).cover(answer.body);
        return { status: answer.statusCode, headers: asNodeHeaders(answer.headers), body: answer.body, trailers: answer.trailers };
      } catch (error) {
        throw translate(error, asked.signal);
      } finally {
        patience.end();
      }
    });
  }

  async function upgrade(sandboxId: SandboxId, asked: LinkUpgrade): Promise<Upgraded | Refused> {
    const link = linkTo(sandboxId);
    return counted(sandboxId, link, async () => {
      const headers = { ...asked.headers, connection: "Upgrade", upgrade: "websocket", [TOKEN_HEADER]: await tokenFor(sandboxId, link) };
      const signal = AbortSignal.any([link.ended.signal, AbortSignal.timeout(headersTimeoutMs), ...(asked.signal ? [asked.signal] : [])]);
      try {
        const answer = await switchProtocol(await link.dial(), asked.path, headers, signal);
        // From here on the connection belongs to the caller, but it still ends with the link.
        if ("socket" in answer) {
          closeWith(answer.socket, link.ended.signal);
          link.sockets++;
          answer.socket.once("close", () => {
            link.sockets--;
            dropIdle(sandboxId, link);
          });
        }
        return answer;
      } catch (error) {
        throw translate(error, asked.signal);
      }
    });
  }

  async function tell(sandboxId: SandboxId, path: string, body: object, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const answer = await request(sandboxId, {
      method: "POST",
      path,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      headersTimeoutMs: timeoutMs,
      ...(signal && { signal }),
    });
    const text = await readAnswer(answer.body);
    if (answer.status >= 300) throw unreachable(`${path} answered ${answer.status}: ${text.slice(0, 200)}`);
  }

  function forget(sandboxId: SandboxId): void {
    const link = linkBySandbox.get(sandboxId);
    if (!link) return;
    linkBySandbox.delete(sandboxId);
    closeLink(link);
  }

  return {
    request,
    upgrade,
    start: (sandboxId, start, signal) => tell(sandboxId, "/internal/start", start, headersTimeoutMs, signal),
    stop: (sandboxId, signal) => tell(sandboxId, "/internal/stop", {}, STOP_TIMEOUT_MS, signal),
    forget,
    async [Symbol.asyncDispose]() {
      for (const sandboxId of linkBySandbox.keys()) forget(sandboxId);
    },
  };
}

interface DaemonLink {
  ended: AbortController;
  dial: () => Promise<Socket>;
  pool: Pool;
  token: string | undefined;
  // Requests whose answer has not begun, and connections that were switched to WebSocket.
  inFlight: number;
  sockets: number;
}

function openPool(dial: () => Promise<Socket>, headersTimeoutMs: number): Pool {
  return new Pool("http://sandbox", {
    connect: (_options, done) => void connectWith(dial, done),
    connections: MAX_CONNECTIONS,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headersTimeoutMs,
    keepAliveTimeout: 4_000,
    // The daemon may ask for less, not for more.
    keepAliveMaxTimeout: 10_000,
  });
}

async function connectWith(dial: () => Promise<Socket>, done: buildConnector.Callback): Promise<void> {
  let socket: Socket;
  try {
    socket = await dial();
  } catch (error) {
    done(error instanceof Error ? error : new Error(String(error)), null);
    return;
  }
  done(null, socket);
}

function closeLink(link: DaemonLink): void {
  const reason = unreachable("the connection was closed");
  link.ended.abort(reason);
  void link.pool.destroy(reason);
}

// The pool's own timer starts anew with every interim answer, so that a daemon could stretch it with 1xx answers; this
// one does not. It starts when the request's body has been sent, however long that takes.
function startPatience(asked: LinkRequest, timeoutMs: number): { signal: AbortSignal; end(): void } {
  const over = new AbortController();
  const leave = () => over.abort(asked.signal?.reason);
  let timer: NodeJS.Timeout | undefined;
  const start = () => {
    timer = setTimeout(() => over.abort(unreachable(`no answer within ${timeoutMs} ms`)), timeoutMs);
  };
  const stream = typeof asked.body === "object" && "pipe" in asked.body ? asked.body : null;
  if (stream) stream.once("end", start);
  else start();
  if (asked.signal?.aborted) leave();
  asked.signal?.addEventListener("abort", leave, { once: true });
  return {
    signal: over.signal,
    end() {
      clearTimeout(timer);
      stream?.off("end", start);
    },
  };
}

function switchProtocol(socket: Socket, path: string, headers: Record<string, string>, signal: AbortSignal): Promise<Upgraded | Refused> {
  const { promise, resolve, reject } = Promise.withResolvers<Upgraded | Refused>();
  const asked = httpRequest({ createConnection: () => socket, host: "sandbox", path, headers, maxHeaderSize: MAX_HEADER_BYTES });
  const abort = () => asked.destroy(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  asked.on("upgrade", (answer, upgraded, head) => resolve({ socket: upgraded, head, headers: answer.headers }));
  asked.on("response", (answer: IncomingMessage) => {
    void readAnswer(answer)
      .then((body) => resolve({ refused: { status: refusalStatus(answer), headers: answer.headers, body } }), reject)
      .finally(() => socket.destroy());
  });
  asked.on("error", reject);
  if (signal.aborted) abort();
  else asked.end();
  return promise.finally(() => signal.removeEventListener("abort", abort));
}

// Only what a refusal can be: the status is written to the caller as it is.
function refusalStatus({ statusCode = 0 }: IncomingMessage): number {
  return statusCode >= 400 && statusCode <= 599 ? statusCode : 502;
}

// As node:http has them: a list for Set-Cookie, one text for every other name. undici makes a list of any name that comes
// more than once, and none of a Set-Cookie that comes once.
function asNodeHeaders(headers: Record<string, string | string[] | undefined>): IncomingHttpHeaders {
  const made: IncomingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    if (name === "set-cookie") made[name] = [value].flat();
    else made[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return made;
}

function closeWith(socket: Duplex, signal: AbortSignal): void {
  socket.on("error", () => {});
  const close = () => socket.destroy();
  signal.addEventListener("abort", close, { once: true });
  socket.once("close", () => signal.removeEventListener("abort", close));
}

async function readAnswer(body: Readable): Promise<string> {
  return String(await readBody(body, MAX_SMALL_BODY_BYTES, () => unreachable("the answer is too long")));
}

function translate(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  return isAppError(error) ? error : new AppError("sandbox_unreachable", { cause: error });
}

const unreachable = (why: string) => new AppError("sandbox_unreachable", { cause: new Error(why) });
