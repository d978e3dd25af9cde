import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { pipeline, type Duplex } from "node:stream";
import type { ConnectionBoundary, CoverableStream } from "../../faults/connection-boundary.ts";
import { runWork } from "../../event-loop/loop-work.ts";
import { dialTarget, type DialOptions, type Refusal } from "./dial-target.ts";
import type { FloodLimit } from "../limits/flood-limit.ts";
import { answer, passOn, refusalText } from "./forward.ts";
import { refuseTarget } from "../policy/policy.ts";
import type { Target } from "../policy/target.ts";
import { parseAbsolute, parseAuthority } from "../policy/target.ts";

export interface EgressProxyOptions extends DialOptions {
  flood: FloodLimit;
  boundaryOf: (socket: CoverableStream) => ConnectionBoundary;
  // Requests for the server itself (below /model/), where there is somebody to answer them.
  onModel?: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  onAllowed: () => void;
  onRefused: (target: Target | undefined, reason: string) => void;
  idleTimeoutMs: number;
  headersTimeoutMs: number;
  maxConnections: number;
  // A place among the connections to the outside, of which all sandboxes have a share; null when this one has its own.
  takePlace: () => Disposable | null;
}

const EGRESS = { name: "egress" };
const MAX_HEADER_BYTES = 32 * 1024;
const CHECKS_PER_TIMEOUT = 4;

// One sandbox's proxy, not yet listening: CONNECT for everything encrypted, absolute-form requests for plain HTTP.
export function createEgressProxy(options: EgressProxyOptions): Server {
  const {
    policy,
    flood,
    boundaryOf,
    allowances,
    onModel,
    onAllowed,
    onRefused,
    idleTimeoutMs,
    headersTimeoutMs,
    maxConnections,
    takePlace,
  } = options;
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: headersTimeoutMs / CHECKS_PER_TIMEOUT,
    requestTimeout: 0,
    // Node would answer such a request itself, and uncounted.
    requireHostHeader: false,
  });
  server.maxConnections = maxConnections;
  // Closes connections on which nothing moves, later than those to the outside, whose end can still be told.
  server.timeout = 2 * idleTimeoutMs;

  // Other connections of the sandbox may hold just as many requests that have not been looked at. Tunnels are not among them.
  flood.onExceeded(() => server.closeAllConnections());
  const served = new WeakSet<Duplex>();
  const refused = new WeakSet<Duplex>();

  // What can be said before anything is waited for.
  function check<Asked extends Target>(target: Asked | undefined): Asked | Refusal {
    if (!target) return refuse(undefined, "a host and a port are needed");
    const reason = refuseTarget(policy, allowances, target);
    return reason === undefined ? target : refuse(target, reason);
  }

  async function reach(target: Target, caller: Duplex | ServerResponse, boundary: ConnectionBoundary): Promise<Socket | Refusal> {
    const place = takePlace();
    if (!place) return { status: 503, reason: "too many connections are open" };
    const gone = new AbortController();
    const leave = () => gone.abort();
    caller.once("close", leave);
    const outer = await dialTarget(target, options, gone.signal);
    caller.off("close", leave);
    if (isRefusal(outer)) {
      place[Symbol.dispose]();
      return outer.status === 403 ? refuse(target, outer.reason) : outer;
    }
    outer.once("close", () => place[Symbol.dispose]());
    boundary.cover(outer);
    onAllowed();
    outer.setTimeout(idleTimeoutMs, () => outer.destroy());
    outer.on("error", () => outer.destroy());
    return outer;
  }

  function refuse(target: Target | undefined, reason: string): Refusal {
    onRefused(target, reason);
    return { status: 403, reason };
  }

  async function tunnel(request: IncomingMessage, inner: Duplex, head: Buffer, boundary: ConnectionBoundary): Promise<void> {
    inner.on("error", () => inner.destroy());
    const target = check(parseAuthority(request.url ?? ""));
    const outer = isRefusal(target) ? target : await reach(target, inner, boundary);
    if (isRefusal(outer)) return void inner.end(refusalText(outer));
    if (inner.destroyed) return void outer.destroy();
    inner.write("HTTP/1.1 200 Connection established\r\n\r\n");
    if (head.length > 0) outer.write(head);
    // Either direction may end before the other; a failure of one ends both.
    pipeline(inner, outer, (error) => void (error && inner.destroy()));
    pipeline(outer, inner, (error) => void (error && outer.destroy()));
  }

  async function forward(request: IncomingMessage, response: ServerResponse, boundary: ConnectionBoundary): Promise<void> {
    const url = request.url ?? "/";
    if (onModel && url.startsWith("/model/")) return onModel(request, response);
    if (url.startsWith("/"))
      return turnAway(request, response, { status: 404, reason: "this is the way out of a sandbox, not a web server" });
    const target = check(parseAbsolute(url));
    if (isRefusal(target)) return turnAway(request, response, target);
    const outer = await reach(target, response, boundary);
    if (isRefusal(outer)) return turnAway(request, response, outer);
    if (response.destroyed) return void outer.destroy();
    passOn({ request, response, target, outer, boundary });
  }

  // A refusal is the last answer on its connection: what else came in with the same bytes is not looked at.
  function turnAway({ socket }: IncomingMessage, response: ServerResponse, { status, reason }: Refusal): void {
    refused.add(socket);
    answer(response, status, reason);
  }

  // The connection itself has been counted with its first request.
  function isOneTooMany(socket: Duplex): boolean {
    if (served.has(socket)) return !flood.take();
    served.add(socket);
    return false;
  }

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    if (refused.has(socket) || socket.destroyed) return;
    if (isOneTooMany(socket)) return void socket.destroy();
    const boundary = boundaryOf(socket);
    boundary.cover(request, response);
    boundary.run(() => runWork(EGRESS, () => forward(request, response, boundary)));
  }

  server.on("connection", boundaryOf);
  server.on("connect", (request, inner, head) => {
    if (isOneTooMany(inner)) return void inner.destroy();
    const boundary = boundaryOf(inner);
    boundary.run(() => runWork(EGRESS, () => tunnel(request, inner, head, boundary)));
  });
  server.on("request", serve);
  // An expectation that we do not know is ignored, as RFC 9110 allows.
  server.on("checkExpectation", serve);
  server.on("clientError", (_error, socket) => socket.destroy());
  return server;
}

const isRefusal = (outcome: object): outcome is Refusal => "reason" in outcome;
