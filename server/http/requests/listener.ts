import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AppError } from "@berth/contract";
import { createConnectionBoundaries } from "../../faults/connection-boundary.ts";
import type { Log } from "../../log.ts";
import { errorBody } from "./error-reply.ts";
import { nextRequestId } from "./request-id.ts";

// The socket's side of HTTP: what arrives before there is a request to route. Even there every answer is JSON.

// A part of the server that takes some requests as they are. `owns` is asked for every request, so it is cheap.
export interface Mount {
  owns(request: IncomingMessage): boolean;
  request(request: IncomingMessage, response: ServerResponse): void | Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void | Promise<void>;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

export interface ListenerOptions {
  log: Log;
  bodyTimeoutMs?: number;
}

export function createListener(
  handler: Handler,
  mount: Mount | undefined,
  { log, bodyTimeoutMs = BODY_TIMEOUT_MS }: ListenerOptions,
): Server {
  // What a caller sends, or how it hangs up, can end its own connection and no other.
  const boundaryOf = createConnectionBoundaries({ log, connection: "http" });

  const dispatch = (request: IncomingMessage, response: ServerResponse): void => {
    const boundary = boundaryOf(request.socket);
    boundary.cover(request, response);
    boundary.run(() => route(request, response));
  };
  const route: Handler = (request, response) => {
    if (request.headers.host === undefined && request.httpVersionMinor === 1) return refuse(response, new AppError("bad_request"));
    if (request.url?.startsWith("http")) request.url = originForm(request.url);
    if (!mount?.owns(request)) {
      limitBody(request, response, bodyTimeoutMs);
      return handler(request, response);
    }
    response.setHeader("x-request-id", nextRequestId());
    return mount.request(request, response);
  };
  const server = createServer(
    {
      // Bodies have limits of their own: a mount takes uploads, which last as long as they last.
      requestTimeout: 0,
      headersTimeout: 20_000,
      // Longer than the idle time of the usual balancers, so that they close first.
      keepAliveTimeout: 75_000,
      // Node would answer with no body at all; `dispatch` says why.
      requireHostHeader: false,
      // Other upgrades (curl offers h2c) are requests like any other.
      shouldUpgradeCallback: (request) =>
        mount !== undefined && request.headers.upgrade?.toLowerCase() === "websocket" && mount.owns(request),
    },
    dispatch,
  );
  server.on("connection", boundaryOf);
  if (mount) server.on("upgrade", (request, socket, head) => boundaryOf(socket).run(() => mount.upgrade(request, socket, head)));
  // An expectation that we do not know is ignored, as RFC 9110 allows.
  server.on("checkExpectation", dispatch);
  server.on("connect", (_request, socket) => boundaryOf(socket).run(() => end(socket, new AppError("method_not_allowed"))));
  server.on("clientError", (error: NodeJS.ErrnoException, socket) =>
    boundaryOf(socket).run(() => end(socket, CLIENT_ERRORS[error.code ?? ""]?.() ?? new AppError("bad_request"))),
  );
  return server;
}

const BODY_TIMEOUT_MS = 60_000;

// A body that is not whole by then is not waited for.
function limitBody(request: IncomingMessage, response: ServerResponse, timeoutMs: number): void {
  if (request.headers["content-length"] === undefined && request.headers["transfer-encoding"] === undefined) return;
  const timer = setTimeout(() => {
    if (response.headersSent) request.destroy();
    else refuse(response, new AppError("request_timeout"));
  }, timeoutMs);
  for (const event of ["end", "close"]) request.once(event, () => clearTimeout(timer));
}

// A proxy may write the whole address into the first line; the part before the path does not matter here.
const originForm = (url: string): string => url.replace(/^https?:\/\/[^/?#]*\/?/i, "/");

const CLIENT_ERRORS: Record<string, () => AppError> = {
  HPE_HEADER_OVERFLOW: () => new AppError("headers_too_large"),
  ERR_HTTP_REQUEST_TIMEOUT: () => new AppError("request_timeout"),
};

function refuse(response: ServerResponse, error: AppError): void {
  const body = JSON.stringify(errorBody(error));
  const headers = { "x-request-id": nextRequestId(), "x-error-code": error.code, "content-type": "application/json; charset=utf-8" };
  response.writeHead(error.status, { ...headers, "content-length": Buffer.byteLength(body), connection: "close" }).end(body);
}

const REASONS: Record<number, string> = {
  400: "Bad Request",
  405: "Method Not Allowed",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

// For a socket that has no request: the parser gave up.
function end(socket: Duplex & { _httpMessage?: { headersSent: boolean } | null }, error: AppError): void {
  // An answer is already on its way over this connection: a second one would be taken for a part of it.
  if (!socket.writable || socket._httpMessage?.headersSent) return void socket.destroy();
  const body = JSON.stringify(errorBody(error));
  socket.end(
    [
      `HTTP/1.1 ${error.status} ${REASONS[error.status]}`,
      `X-Request-Id: ${nextRequestId()}`,
      `X-Error-Code: ${error.code}`,
      "Content-Type: application/json; charset=utf-8",
      `Content-Length: ${Buffer.byteLength(body)}`,
      "Connection: close",
      "",
      body,
    ].join("\r\n"),
  );
}
