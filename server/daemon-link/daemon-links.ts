import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { AppError, ERRORS, type SandboxId } from "@berth/contract";
import { TOKEN_HEADER } from "@berth/contract/daemon.ts";
import type { StartRequest, StartResponse } from "@berth/contract/daemon-internal.ts";
import { isForwardableStatus } from "@berth/contract/forwarding/forwarding.ts";
import type { Driver } from "../drivers/driver.ts";
import type { CancelSignal } from "../bounded-io/cancellation.ts";
import { createConnectionBoundaries, createStreamCover } from "../faults/connection-boundary.ts";
import type { Log } from "../log.ts";
import { errorType, type Span } from "../tracing/span.ts";
import { readResponseText, toLinkError, unreachable } from "./link-errors.ts";
import { exchange } from "./link-exchange.ts";
import { openClient, openPool } from "./link-pool.ts";
import { spanResult, traceHeaders } from "./link-span.ts";
import { closeLink, usePrepared, type DaemonLink, type Prepared } from "./link-state.ts";
import { closeWith, upgradeSocket, type Refused, type Upgraded } from "./link-upgrade.ts";

// The server's connections to the daemons: HTTP over sockets that the driver dials, authenticated with the sandbox's token. A
// daemon may be frozen, dead or hostile, so every wait has a deadline and every response a size limit. Calls reject with the
// AppError `sandbox_unreachable`, except that the reason of an aborted signal, and an AppError with which the request's body
// stream fails, pass through unchanged.
export interface DaemonLinks extends AsyncDisposable {
  // Resolves when the response begins. The caller must read its body to the end or destroy it.
  request(sandboxId: SandboxId, request: LinkRequest): Promise<LinkResponse>;
  // Resolves with a connection that the daemon switched to WebSocket, or with its refusal.
  upgrade(sandboxId: SandboxId, request: LinkUpgrade): Promise<Upgraded | Refused>;
  // `start` gives the daemon its environment and agent; `stop` announces that the sandbox is about to stop.
  start(sandboxId: SandboxId, start: StartRequest, options?: StartOptions): Promise<Pick<StartResponse, "hasNews">>;
  stop(sandboxId: SandboxId, signal?: AbortSignal): Promise<void>;
  // Announces that the sandbox is about to be frozen, so that its commands outlive the connections of their callers.
  announcePause(sandboxId: SandboxId, signal?: AbortSignal): Promise<void>;
  // Lets the daemon write the terminals' output and the conversations to its files, and go on.
  save(sandboxId: SandboxId, signal?: AbortSignal): Promise<void>;
  // Like `start`, for a sandbox that waits for its session. Also lets the daemon run its first command and its first process, which take
  // longer than all others, and keeps a connection open for the session's first request.
  prepare(sandboxId: SandboxId, start: StartRequest, signal?: AbortSignal): Promise<void>;
  // Whether that connection is still open, so that the daemon is alive and has its environment.
  isPrepared(sandboxId: SandboxId): boolean;
  // Closes every connection to the sandbox and fails the requests in flight. Call it when the sandbox is paused, stopped or
  // destroyed, because a frozen daemon would keep its callers waiting. The next request opens a new link.
  forget(sandboxId: SandboxId): void;
}

export interface LinkRequest {
  method: string;
  // Percent-encoded, with the query, as the daemon receives it.
  path: string;
  headers?: Record<string, string>;
  body?: Readable | Buffer | string;
  // The longest wait for the response to begin, and the longest silence within it (0: no limit).
  headersTimeoutMs?: number;
  bodyTimeoutMs?: number;
  signal?: CancelSignal;
  // The daemon learns of its trace.
  span?: Span | undefined;
}

export interface StartOptions {
  signal?: AbortSignal;
  span?: Span | undefined;
}

export interface LinkResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: Readable;
  // Filled in when the body has ended.
  trailers: Record<string, string>;
}

export interface LinkUpgrade {
  path: string;
  headers: Record<string, string>;
  signal?: AbortSignal;
  span?: Span | undefined;
}

export interface DaemonLinksOptions {
  driver: Pick<Driver, "dial">;
  tokenOf: (sandboxId: SandboxId) => string | Promise<string>;
  log: Log;
  dialTimeoutMs?: number;
  headersTimeoutMs?: number;
}

const MAX_IN_FLIGHT = 256;
const STOP_TIMEOUT_MS = 20_000;
// A daemon that does not answer holds up the pause for this long.
const PAUSE_TIMEOUT_MS = 2_000;

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
    const cover = createStreamCover(boundaryFor(sandboxId));
    const dial = async () => {
      const socket = await driver.dial(sandboxId, AbortSignal.any([ended.signal, AbortSignal.timeout(dialTimeoutMs)]));
      boundaryOf(socket);
      return socket;
    };
    const pool = openPool(dial, headersTimeoutMs);
    const link: DaemonLink = { ended, dial, cover, inFlight: 0, sockets: 0, pool, prepared: undefined, token: undefined };
    linkBySandbox.set(sandboxId, link);
    link.pool.on("disconnect", () => dropIdle(sandboxId, link));
    return link;
  }

  // Another server may have ended the sandbox unnoticed by this one, so an unused link is closed.
  function dropIdle(sandboxId: SandboxId, link: DaemonLink): void {
    const isUsed = link.inFlight + link.sockets + link.pool.stats.connected > 0 || link.prepared !== undefined;
    if (!isUsed && linkBySandbox.get(sandboxId) === link) forget(sandboxId);
  }

  function beginRequest(link: DaemonLink): void {
    if (link.inFlight >= MAX_IN_FLIGHT)
      throw new AppError("rate_limited", { message: "Too many requests to this sandbox are in progress" });
    link.inFlight++;
  }

  function endRequest(sandboxId: SandboxId, link: DaemonLink): void {
    link.inFlight--;
    dropIdle(sandboxId, link);
  }

  async function tokenFor(sandboxId: SandboxId, link: DaemonLink): Promise<string> {
    link.token ??= await tokenOf(sandboxId);
    return link.token;
  }

  function request(sandboxId: SandboxId, linkRequest: LinkRequest): Promise<LinkResponse> {
    const link = linkTo(sandboxId);
    const { prepared } = link;
    // A request must not wait for another one.
    if (!prepared || prepared.isBusy) return send(sandboxId, link, link.pool, linkRequest);
    const release = usePrepared(link, prepared);
    const watched = (response: LinkResponse) => (response.body.on("close", release), response);
    return send(sandboxId, link, prepared.client, linkRequest).then(watched, (error: unknown) => {
      release();
      throw error;
    });
  }

  async function send(sandboxId: SandboxId, link: DaemonLink, dispatcher: Dispatcher, linkRequest: LinkRequest): Promise<LinkResponse> {
    beginRequest(link);
    const span = linkRequest.span?.child(`daemon ${linkRequest.method}`, "client");
    try {
      const headers = { ...linkRequest.headers, ...traceHeaders(span), [TOKEN_HEADER]: link.token ?? (await tokenFor(sandboxId, link)) };
      const response = await exchange(dispatcher, {
        method: linkRequest.method,
        path: linkRequest.path,
        headers,
        body: linkRequest.body ?? null,
        headersTimeoutMs: linkRequest.headersTimeoutMs ?? headersTimeoutMs,
        bodyTimeoutMs: linkRequest.bodyTimeoutMs ?? headersTimeoutMs,
        signal: linkRequest.signal,
      });
      link.cover(response.body);
      if (!isForwardableStatus(response.status)) {
        response.body.destroy();
        throw unreachable("the sandbox answered with an invalid status");
      }
      if (span?.isRecorded) response.body.once("close", () => span.end(spanResult(linkRequest, response.status)));
      return response;
    } catch (error) {
      if (span?.isRecorded) span.end({ ...spanResult(linkRequest), error: errorType(error) });
      throw toLinkError(error, linkRequest.signal);
    } finally {
      endRequest(sandboxId, link);
    }
  }

  async function upgrade(sandboxId: SandboxId, linkUpgrade: LinkUpgrade): Promise<Upgraded | Refused> {
    const link = linkTo(sandboxId);
    beginRequest(link);
    try {
      const headers = {
        ...linkUpgrade.headers,
        ...traceHeaders(linkUpgrade.span),
        connection: "Upgrade",
        upgrade: "websocket",
        [TOKEN_HEADER]: await tokenFor(sandboxId, link),
      };
      const signal = AbortSignal.any([
        link.ended.signal,
        AbortSignal.timeout(headersTimeoutMs),
        ...(linkUpgrade.signal ? [linkUpgrade.signal] : []),
      ]);
      const response = await upgradeSocket(await link.dial(), linkUpgrade.path, headers, signal);
      // The connection now belongs to the caller, but still closes with the link.
      if ("socket" in response) {
        closeWith(response.socket, link.ended.signal);
        link.sockets++;
        response.socket.once("close", () => {
          link.sockets--;
          dropIdle(sandboxId, link);
        });
      }
      return response;
    } catch (error) {
      throw toLinkError(error, linkUpgrade.signal);
    } finally {
      endRequest(sandboxId, link);
    }
  }

  async function post(sandboxId: SandboxId, path: string, body: object, options: PostOptions = {}): Promise<string> {
    const link = linkTo(sandboxId);
    const { timeoutMs = headersTimeoutMs, signal, span, accept, isOptional } = options;
    const response = await send(sandboxId, link, link.prepared?.isUsed === false ? link.prepared.client : link.pool, {
      method: "POST",
      path,
      headers: { "content-type": "application/json", ...(accept && { accept }) },
      body: JSON.stringify(body),
      headersTimeoutMs: timeoutMs,
      span,
      ...(signal && { signal }),
    });
    const text = await readResponseText(response.body);
    if (response.status >= 300 && !(isOptional && LACKING.has(response.status)))
      throw unreachable(`${path} answered ${response.status}: ${text.slice(0, 200)}`);
    return text;
  }

  async function announce(sandboxId: SandboxId, path: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
    await post(sandboxId, path, {}, { timeoutMs, ...(signal && { signal }) });
  }

  async function prepare(sandboxId: SandboxId, start: StartRequest, signal?: AbortSignal): Promise<void> {
    const link = linkTo(sandboxId);
    const prepared: Prepared = { client: openClient(link.dial, headersTimeoutMs), isReady: false, isUsed: false, isBusy: false };
    link.prepared = prepared;
    prepared.client.once("disconnect", () => {
      if (link.prepared === prepared) link.prepared = undefined;
      dropIdle(sandboxId, link);
    });
    try {
      await post(sandboxId, "/internal/start", start, signal && { signal });
      // An image may have no shell, or a daemon of an earlier version, which has no rehearsals. Compiling fills the space for new objects,
      // and the next command waits while V8 makes a second one, so that is not the session's first.
      const rehearse = (path: string, accept?: string) =>
        post(sandboxId, path, { command: ":" }, { isOptional: true, ...(accept && { accept }), ...(signal && { signal }) });
      await rehearse("/exec");
      await rehearse("/internal/rehearse", EVENTS);
      await rehearse("/exec");
      prepared.isReady = true;
    } catch (error) {
      forget(sandboxId);
      throw error;
    }
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
    async start(sandboxId, start, options) {
      const text = await post(sandboxId, "/internal/start", start, options);
      return { hasNews: /"hasNews":true/.test(text) };
    },
    announcePause: (sandboxId, signal) => announce(sandboxId, "/internal/pause", PAUSE_TIMEOUT_MS, signal),
    save: (sandboxId, signal) => announce(sandboxId, "/internal/save", STOP_TIMEOUT_MS, signal),
    stop: (sandboxId, signal) => announce(sandboxId, "/internal/stop", STOP_TIMEOUT_MS, signal),
    prepare,
    isPrepared: (sandboxId) => linkBySandbox.get(sandboxId)?.prepared?.isReady ?? false,
    forget,
    async [Symbol.asyncDispose]() {
      for (const sandboxId of linkBySandbox.keys()) forget(sandboxId);
    },
  };
}

interface PostOptions extends StartOptions {
  timeoutMs?: number;
  accept?: string;
  // Whether the sandbox may lack what it needs.
  isOptional?: boolean;
}

const LACKING = new Set<number>([ERRORS.not_found.status, ERRORS.shell_unavailable.status]);
const EVENTS = "text/event-stream";
