import { createServer, IncomingMessage, ServerResponse, type Server } from "node:http";
import type { Duplex } from "node:stream";
import { AppError } from "@berth/contract";
import { endSocketWithReply, toErrorReply } from "../../error-reply.ts";
import { coverableClass, createConnectionBoundary, type ConnectionBoundary } from "../../faults/connection-boundary.ts";
import type { Log } from "../../log.ts";
import { plainTracer, type Tracer } from "../../tracing/tracer.ts";
import { handleInSequence } from "./pipelining.ts";
import { nextRequestId } from "./request-id.ts";

// A part of the server that handles some requests itself, before the API. `owns` is called for every request, so it is
// cheap.
export interface Mount {
  owns(request: IncomingMessage): boolean;
  request(request: IncomingMessage, response: ServerResponse): void | Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void | Promise<void>;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

export interface ListenerOptions {
  log: Log;
  tracer?: Tracer | undefined;
  bodyTimeoutMs?: number;
}

const BODY_TIMEOUT_MS = 60_000;
const MESSAGES = { IncomingMessage: coverableClass(IncomingMessage), ServerResponse: coverableClass(ServerResponse) };

// The HTTP server below Fastify and the gateway. It handles connections until there is a request to route, and replies
// with JSON even to bytes that are not HTTP.
export function createListener(
  handler: Handler,
  mount: Mount | undefined,
  { log, tracer = plainTracer, bodyTimeoutMs = BODY_TIMEOUT_MS }: ListenerOptions,
): Server {
  // A property of the socket, because every request looks for it: a map of sockets takes several times as long.
  const connectionOf = (socket: Duplex): Connection => ((socket as KnownSocket)[CONNECTION] ??= open(socket));
  const open = (socket: Duplex): Connection => {
    const boundary = createConnectionBoundary({ log, connection: "http" });
    boundary.cover(socket);
    return { boundary, lastResponse: undefined };
  };

  const dispatch = handleInSequence((request, response) => {
    const connection = connectionOf(request.socket);
    connection.lastResponse = response;
    const { boundary } = connection;
    boundary.cover(request, response);
    boundary.run(() => route(request, response));
  });
  const route: Handler = (request, response) => {
    if (request.headers.host === undefined && request.httpVersionMinor === 1) return sendError(response, new AppError("bad_request"));
    if (request.url?.startsWith("http")) request.url = toOriginForm(request.url);
    tracer.receive(request);
    if (!mount?.owns(request)) {
      limitBodyTime(request, response, bodyTimeoutMs);
      return handler(request, response);
    }
    response.setHeader("x-request-id", nextRequestId());
    return mount.request(request, response);
  };
  // For a socket without a request, because the parser failed or the method is CONNECT.
  const endWithError = (socket: Duplex, error: AppError): void => {
    const response = connectionOf(socket).lastResponse;
    // An error reply in the middle of another response would become part of that response.
    const isSending = response?.headersSent === true && !response.writableFinished;
    if (!socket.writable || isSending) return void socket.destroy();
    const { headers, ...reply } = toErrorReply(error);
    endSocketWithReply(socket, { ...reply, headers: { ...headers, "x-request-id": nextRequestId() } });
  };
  const server = createServer(
    {
      ...MESSAGES,
      // Requests to the API have their own body timeout; uploads through a mount may take as long as they need.
      requestTimeout: 0,
      headersTimeout: 20_000,
      // Longer than the idle timeout of common load balancers, so that they close connections first.
      keepAliveTimeout: 75_000,
      // Node would reply without a body; `route` replies with JSON.
      requireHostHeader: false,
      // Treat other upgrades as plain requests: curl offers h2c, for instance.
      shouldUpgradeCallback: (request) =>
        mount !== undefined && request.headers.upgrade?.toLowerCase() === "websocket" && mount.owns(request),
    },
    dispatch,
  );
  server.on("connection", connectionOf);
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    tracer.receive(request);
    return mount?.upgrade(request, socket, head);
  };
  if (mount) server.on("upgrade", (request, socket, head) => connectionOf(socket).boundary.run(() => upgrade(request, socket, head)));
  // Ignore unknown expectations, as RFC 9110 allows.
  server.on("checkExpectation", dispatch);
  server.on("connect", (_request, socket) =>
    connectionOf(socket).boundary.run(() => endWithError(socket, new AppError("method_not_allowed"))),
  );
  server.on("clientError", (error: NodeJS.ErrnoException, socket) =>
    connectionOf(socket).boundary.run(() => endWithError(socket, CLIENT_ERRORS[error.code ?? ""]?.() ?? new AppError("bad_request"))),
  );
  return server;
}

const CONNECTION = Symbol("connection");
type KnownSocket = Duplex & { [CONNECTION]?: Connection };

interface Connection {
  boundary: ConnectionBoundary;
  lastResponse: ServerResponse | undefined;
}

const CLIENT_ERRORS: Record<string, () => AppError> = {
  HPE_HEADER_OVERFLOW: () => new AppError("headers_too_large"),
  ERR_HTTP_REQUEST_TIMEOUT: () => new AppError("request_timeout"),
};

function limitBodyTime(request: IncomingMessage, response: ServerResponse, timeoutMs: number): void {
  if (request.headers["content-length"] === undefined && request.headers["transfer-encoding"] === undefined) return;
  const timer = setTimeout(() => {
    if (response.headersSent) request.destroy();
    else sendError(response, new AppError("request_timeout"));
  }, timeoutMs);
  for (const event of ["end", "close"]) request.once(event, () => clearTimeout(timer));
}

// A proxy may send the absolute URL in the request line; only its path and query matter here.
const toOriginForm = (url: string): string => url.replace(/^https?:\/\/[^/?#]*\/?/i, "/");

function sendError(response: ServerResponse, error: AppError): void {
  const { status, headers, body } = toErrorReply(error);
  const own = { "x-request-id": nextRequestId(), "content-length": Buffer.byteLength(body), connection: "close" };
  response.writeHead(status, { ...headers, ...own }).end(body);
}
