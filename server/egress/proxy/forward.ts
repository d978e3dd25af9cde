import { request as httpRequest, STATUS_CODES, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import { pipeline, type Duplex } from "node:stream";
import type { ConnectionBoundary } from "../../faults/connection-boundary.ts";
import type { Refusal } from "./dial-target.ts";
import type { AbsoluteTarget } from "../policy/target.ts";

export interface ForwardedRequest {
  request: IncomingMessage;
  response: ServerResponse;
  target: AbsoluteTarget;
  // A connection to the checked target.
  outer: Duplex;
  boundary: ConnectionBoundary;
}

// Servers send few of these (100, 103). Each one restarts the idle timeout.
const MAX_INTERIM_ANSWERS = 16;

// Sends a plain HTTP request to the target and its answer back. The caller follows redirects itself, through the same checks.
// The upstream is untrusted, like the sandbox: it may belong to the same user.
export function forwardRequest({ request, response, target, outer, boundary }: ForwardedRequest): void {
  response.once("close", () => outer.destroy());
  const upstreamRequest = httpRequest({
    createConnection: () => outer,
    method: request.method,
    path: target.path,
    // The checked host, whatever the Host header of the sandbox says.
    headers: { ...endToEndHeaders(request), host: target.authority, connection: "close" },
    setHost: false,
  });
  boundary.cover(upstreamRequest);
  const fail = () => sendText(response, 502, `${target.host} closed the connection`);
  let interim = 0;
  upstreamRequest.on("information", () => void (++interim > MAX_INTERIM_ANSWERS && upstreamRequest.destroy()));
  upstreamRequest.once("response", (upstreamResponse) => {
    boundary.cover(upstreamResponse);
    const { statusCode = 0 } = upstreamResponse;
    // Node refuses to write some other statuses, and none of them ends a request.
    if (statusCode < 200 || statusCode > 599) return void upstreamRequest.destroy();
    response.writeHead(statusCode, endToEndHeaders(upstreamResponse));
    pipeline(upstreamResponse, response, () => undefined);
  });
  upstreamRequest.on("error", fail);
  // The only event of a request that ends without an error, such as one that is answered with an upgrade.
  upstreamRequest.once("close", () => void (response.headersSent || fail()));
  pipeline(request, upstreamRequest, () => undefined);
}

export function sendText(response: ServerResponse, status: number, reason: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end(`berth: ${reason}\n`);
}

// A refusal as the bytes of an HTTP answer, for CONNECT.
export function refusalBytes({ status, reason }: Refusal): string {
  const body = `berth: ${reason}\n`;
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close`;
  return `${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

const HOP_BY_HOP = new Set(
  "connection keep-alive proxy-connection proxy-authorization proxy-authenticate te trailer transfer-encoding upgrade".split(" "),
);

// Removes the hop-by-hop headers, including those that the Connection header names.
function endToEndHeaders({ headers }: IncomingMessage): OutgoingHttpHeaders {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name) && !named.includes(name)));
}
