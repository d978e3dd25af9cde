import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { pipeline, type Duplex } from "node:stream";
import type { ConnectionBoundary, CoverableStream } from "../connection-boundary.ts";
import { runWork } from "../loop-work.ts";
import { dialTarget, type DialOptions, type Refusal } from "./dial.ts";
import { answer, passOn, refusalText } from "./forward.ts";
import { refuseTarget, type Target } from "./policy.ts";
import { parseAbsolute, parseAuthority } from "./target.ts";

export interface DoorOptions extends DialOptions {
  boundaryOf: (socket: CoverableStream) => ConnectionBoundary;
  // Requests for the server itself (below /model/), where there is somebody to answer them.
  onModel?: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  onAllowed: () => void;
  onRefused: (target: Target | undefined, reason: string) => void;
  idleTimeoutMs: number;
  headersTimeoutMs: number;
  maxConnections: number;
  // Connections to the outside, of all sandboxes together.
  outside: { open: number; max: number };
}

const EGRESS = { name: "egress" };
const MAX_HEADER_BYTES = 32 * 1024;
const CHECKS_PER_TIMEOUT = 4;

// One sandbox's proxy, not yet listening: CONNECT for everything encrypted, absolute-form requests for plain HTTP.
export function createDoor(options: DoorOptions): Server {
  const { policy, boundaryOf, allowances, onModel, onAllowed, onRefused, idleTimeoutMs, headersTimeoutMs, maxConnections, outside } =
    options;
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: headersTimeoutMs / CHECKS_PER_TIMEOUT,
    requestTimeout: 0,
  });
  server.maxConnections = maxConnections;
  // Closes connections on which nothing moves, later than those to the outside, whose end can still be told.
  server.timeout = 2 * idleTimeoutMs;

  async function reach(target: Target | undefined, boundary: ConnectionBoundary) {
    if (!target) return refuse(undefined, "a host and a port are needed");
    const reason = refuseTarget(policy, allowances, target);
    if (reason !== undefined) return refuse(target, reason);
    if (outside.open >= outside.max) return { status: 503, reason: "too many connections are open" } satisfies Refusal;
    outside.open++;
    const outer = await dialTarget(target, options);
    if (isRefusal(outer)) {
      outside.open--;
      return outer.status === 403 ? refuse(target, outer.reason) : outer;
    }
    outer.once("close", () => outside.open--);
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
    const outer = await reach(parseAuthority(request.url ?? ""), boundary);
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
    if (url.startsWith("/")) return answer(response, 404, "this is the way out of a sandbox, not a web server");
    const target = parseAbsolute(url);
    const outer = await reach(target, boundary);
    if (!target || isRefusal(outer)) return isRefusal(outer) ? answer(response, outer.status, outer.reason) : void outer.destroy();
    if (response.destroyed) return void outer.destroy();
    passOn({ request, response, target, outer, boundary });
  }

  server.on("connection", boundaryOf);
  server.on("connect", (request, inner, head) => {
    const boundary = boundaryOf(inner);
    boundary.run(() => runWork(EGRESS, () => tunnel(request, inner, head, boundary)));
  });
  server.on("request", (request, response) => {
    const boundary = boundaryOf(request.socket);
    boundary.cover(request, response);
    boundary.run(() => runWork(EGRESS, () => forward(request, response, boundary)));
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  return server;
}

const isRefusal = (outcome: Duplex | Refusal): outcome is Refusal => "reason" in outcome;
