import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { EgressPolicy } from "@berth/contract";
import type { Duplex } from "node:stream";
import { endSocket } from "../../bounded-io/end-socket.ts";
import type { ConnectionBoundary, CoverableStream } from "../../faults/connection-boundary.ts";
import { runWork } from "../../event-loop/loop-work.ts";
import { sendRefusal } from "../../forwarding/send-refusal.ts";
import { dialTarget, type DialOptions, type Refusal } from "./dial-target.ts";
import type { FloodLimit } from "../limits/flood-limit.ts";
import { forwardRequest, refusalBytes } from "./forward.ts";
import { checkTunnel, TLS_ALERT } from "./check-tunnel.ts";
import { coupleCloses, relayTunnel } from "./relay-tunnel.ts";
import { needsServerName, permittedAddresses, refuseTarget, type PlainRequest } from "../policy/policy.ts";
import type { Target } from "../policy/target.ts";
import { parseAbsolute, parseAuthority } from "../policy/target.ts";

export interface EgressProxy {
  // Does not listen.
  server: Server;
  // Closes the connections to the outside that the policy does not allow any more.
  closeForbidden(): void;
}

export interface EgressProxyOptions extends Omit<DialOptions, "policy"> {
  // The policy now. Every request and every tunnel is checked when it begins.
  policy: () => EgressPolicy;
  flood: FloodLimit;
  boundaryOf: (socket: CoverableStream) => ConnectionBoundary;
  // Handles requests to the server itself. False: they are not for a relay.
  onRelay?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  onAllowed: (target: Target, outer: Socket) => void;
  onRefused: (target: Target | undefined, reason: string) => void;
  // The policy allows it, but there is no connection.
  onUnreachable: (target: Target, reason: string) => void;
  idleTimeoutMs: number;
  // Also for the first message of a tunnel whose name is checked.
  headersTimeoutMs: number;
  maxConnections: number;
  // Returns one of the slots for outgoing connections, which all sandboxes share, or null if this sandbox has its share.
  takeConnectionSlot: () => Disposable | null;
}

const EGRESS = { name: "egress" };
const MAX_HEADER_BYTES = 32 * 1024;
const CHECKS_PER_TIMEOUT = 4;

// The proxy of one sandbox: CONNECT for tunnels, absolute-form requests for plain HTTP. It does not listen yet.
export function createEgressProxy(options: EgressProxyOptions): EgressProxy {
  const {
    policy,
    flood,
    boundaryOf,
    allowances,
    onRelay,
    onAllowed,
    onRefused,
    onUnreachable,
    idleTimeoutMs,
    headersTimeoutMs,
    maxConnections,
    takeConnectionSlot,
  } = options;
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: headersTimeoutMs / CHECKS_PER_TIMEOUT,
    requestTimeout: 0,
    // Otherwise Node would answer requests without a Host header itself, and they would not be counted.
    requireHostHeader: false,
  });
  server.maxConnections = maxConnections;
  // Closes idle connections, later than outgoing ones, so that the sandbox still learns of their end.
  server.timeout = 2 * idleTimeoutMs;

  // Drops the requests that wait on the sandbox's other connections. Tunnels stay open.
  flood.onExceeded(() => server.closeAllConnections());
  const served = new WeakSet<Duplex>();
  const refused = new WeakSet<Duplex>();
  const connections = new Map<Socket, Asked>();

  // The checks that need no name resolution.
  function check(target: Target | undefined, request: PlainRequest | null): Asked | Refusal {
    if (!target) return refuse(undefined, "the request needs a host and a port");
    const reason = refuseTarget(policy(), allowances, target, request);
    return reason === undefined ? { target, request } : refuse(target, reason);
  }

  // Why an open connection would be refused now.
  function refuseOpen({ target, request }: Asked, { remoteAddress = "" }: Socket): string | undefined {
    const reason = refuseTarget(policy(), allowances, target, request);
    if (reason !== undefined) return reason;
    const permitted = permittedAddresses(policy(), allowances, target, [remoteAddress]);
    return typeof permitted === "string" ? permitted : undefined;
  }

  async function openConnection(asked: Asked, caller: Duplex | ServerResponse, boundary: ConnectionBoundary): Promise<Socket | Refusal> {
    const { target } = asked;
    const slot = takeConnectionSlot();
    if (!slot) return fail(target, { status: 503, reason: "too many connections are open" });
    const gone = new AbortController();
    const leave = () => gone.abort();
    caller.once("close", leave);
    const before = policy();
    const outer = await dialTarget(target, { ...options, policy: before }, gone.signal);
    caller.off("close", leave);
    if (isRefusal(outer)) {
      slot[Symbol.dispose]();
      return outer.status === 403 ? refuse(target, outer.reason) : fail(target, outer);
    }
    connections.set(outer, asked);
    outer.once("close", () => {
      connections.delete(outer);
      slot[Symbol.dispose]();
    });
    // The policy may have changed in the meantime.
    const reason = policy() === before ? undefined : refuseOpen(asked, outer);
    if (reason !== undefined) {
      outer.on("error", () => {}).destroy();
      return refuse(target, reason);
    }
    boundary.cover(outer);
    onAllowed(target, outer);
    outer.setTimeout(idleTimeoutMs, () => outer.destroy());
    outer.on("error", () => outer.destroy());
    return outer;
  }

  function refuse(target: Target | undefined, reason: string): Refusal {
    onRefused(target, reason);
    return { status: 403, reason };
  }

  function fail(target: Target, refusal: Refusal): Refusal {
    onUnreachable(target, refusal.reason);
    return refusal;
  }

  async function tunnel(request: IncomingMessage, inner: Duplex, head: Buffer, boundary: ConnectionBoundary): Promise<void> {
    inner.on("error", () => inner.destroy());
    const asked = check(parseAuthority(request.url ?? ""), null);
    if (isRefusal(asked)) return endSocket(inner, refusalBytes(asked));
    const outer = await openConnection(asked, inner, boundary);
    if (isRefusal(outer)) return endSocket(inner, refusalBytes(outer));
    if (inner.destroyed) return void outer.destroy();
    inner.write("HTTP/1.1 200 Connection established\r\n\r\n");
    if (needsServerName(policy())) return relayChecked(asked.target, inner, outer, head);
    if (head.length > 0) outer.write(head);
    relayTunnel(inner, outer);
  }

  // The server may speak first. What the sandbox sends waits until its name is checked.
  function relayChecked(target: Target, inner: Duplex, outer: Socket, head: Buffer): void {
    const coupled = coupleCloses(inner, outer);
    outer.pipe(inner);
    checkTunnel(inner, target, { head, timeoutMs: headersTimeoutMs }, (outcome) => {
      if ("reason" in outcome) {
        refuse(target, outcome.reason);
        // The sandbox still gets the reason.
        coupled[Symbol.dispose]();
        outer.unpipe(inner).destroy();
        return endSocket(inner, outcome.isTls ? TLS_ALERT : refusalBytes({ status: 403, reason: outcome.reason }));
      }
      for (const bytes of outcome.sent) outer.write(bytes);
      if (inner.readableEnded) outer.end();
      else inner.pipe(outer);
    });
  }

  async function forward(request: IncomingMessage, response: ServerResponse, boundary: ConnectionBoundary): Promise<void> {
    const url = request.url ?? "/";
    if (url.startsWith("/")) {
      if (onRelay?.(request, response)) return;
      return refuseRequest(request, response, { status: 404, reason: "this is the egress proxy of a sandbox, not a web server" });
    }
    const target = parseAbsolute(url);
    const plain = target && { method: request.method ?? "", path: target.pathname, headers: request.headers };
    const asked = check(target, plain ?? null);
    if (isRefusal(asked) || !target) return refuseRequest(request, response, asked as Refusal);
    const outer = await openConnection(asked, response, boundary);
    if (isRefusal(outer)) return refuseRequest(request, response, outer);
    if (response.destroyed) return void outer.destroy();
    await forwardRequest({ request, response, target, outer, boundary });
  }

  // A refusal is the last answer on its connection: requests pipelined after it are ignored.
  function refuseRequest({ socket }: IncomingMessage, response: ServerResponse, { status, reason }: Refusal): void {
    refused.add(socket);
    sendRefusal(response, status, reason);
  }

  // The listener has counted the connection, and with it the first request.
  function exceedsFloodLimit(socket: Duplex): boolean {
    if (served.has(socket)) return !flood.take();
    served.add(socket);
    return false;
  }

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    if (refused.has(socket) || socket.destroyed) return;
    if (exceedsFloodLimit(socket)) return void socket.destroy();
    const boundary = boundaryOf(socket);
    boundary.cover(request, response);
    boundary.run(() => runWork(EGRESS, () => forward(request, response, boundary)));
  }

  server.on("connection", boundaryOf);
  server.on("connect", (request, inner, head) => {
    if (exceedsFloodLimit(inner)) return void inner.destroy();
    const boundary = boundaryOf(inner);
    boundary.run(() => runWork(EGRESS, () => tunnel(request, inner, head, boundary)));
  });
  server.on("request", serve);
  // Unknown expectations are ignored, as RFC 9110 allows.
  server.on("checkExpectation", serve);
  server.on("clientError", (_error, socket) => socket.destroy());
  return {
    server,
    closeForbidden() {
      for (const [outer, asked] of connections) if (refuseOpen(asked, outer) !== undefined) outer.destroy();
    },
  };
}

// The request of a sandbox, or null for a tunnel.
interface Asked {
  target: Target;
  request: PlainRequest | null;
}

const isRefusal = (outcome: object): outcome is Refusal => "reason" in outcome;
