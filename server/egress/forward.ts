import { request as httpRequest, STATUS_CODES, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import { pipeline, type Duplex } from "node:stream";
import type { Refusal } from "./dial.ts";
import type { AbsoluteTarget } from "./target.ts";

// Sends a plain request on over a connection that has been checked, and its answer back. Redirects are the caller's to
// follow, through the same check.
export function passOn(request: IncomingMessage, response: ServerResponse, target: AbsoluteTarget, outer: Duplex): void {
  response.once("close", () => outer.destroy());
  const asked = httpRequest({
    createConnection: () => outer,
    method: request.method,
    path: target.path,
    // The host that was checked is the host that is asked for, whatever the Host header says.
    headers: { ...endToEnd(request), host: target.authority, connection: "close" },
    setHost: false,
  });
  asked.once("response", (answered) => {
    response.writeHead(answered.statusCode ?? 502, endToEnd(answered));
    pipeline(answered, response, () => undefined);
  });
  asked.once("error", () => answer(response, 502, `${target.host} broke off`));
  pipeline(request, asked, () => undefined);
}

export function answer(response: ServerResponse, status: number, reason: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end(`berth: ${reason}\n`);
}

// The same as bytes, for a CONNECT.
export function refusalText({ status, reason }: Refusal): string {
  const body = `berth: ${reason}\n`;
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close`;
  return `${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

const HOP_BY_HOP = new Set(
  "connection keep-alive proxy-connection proxy-authorization proxy-authenticate te trailer transfer-encoding upgrade".split(" "),
);

// Headers that are for the other end, without those that concern one connection alone.
function endToEnd({ headers }: IncomingMessage): OutgoingHttpHeaders {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name) && !named.includes(name)));
}
