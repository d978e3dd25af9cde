import { request as httpRequest, STATUS_CODES, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import { pipeline, type Duplex } from "node:stream";
import type { ConnectionBoundary } from "../../faults/connection-boundary.ts";
import type { Refusal } from "./dial-target.ts";
import type { AbsoluteTarget } from "../policy/target.ts";

export interface Passage {
  request: IncomingMessage;
  response: ServerResponse;
  target: AbsoluteTarget;
  // A connection to the target that has been checked.
  outer: Duplex;
  boundary: ConnectionBoundary;
}

// An honest server sends a few (100, 103); each one puts off the idle timeout.
const MAX_INTERIM_ANSWERS = 16;

// Sends a plain request on to the target, and its answer back. Redirects are the caller's to follow, through the same
// check. An upstream is as little trusted as a sandbox: it may be one user's machine.
export function passOn({ request, response, target, outer, boundary }: Passage): void {
  response.once("close", () => outer.destroy());
  const asked = httpRequest({
    createConnection: () => outer,
    method: request.method,
    path: target.path,
    // The host that was checked is the host that is asked for, whatever the Host header says.
    headers: { ...endToEnd(request), host: target.authority, connection: "close" },
    setHost: false,
  });
  boundary.cover(asked);
  const fail = () => answer(response, 502, `${target.host} broke off`);
  let interim = 0;
  asked.on("information", () => void (++interim > MAX_INTERIM_ANSWERS && asked.destroy()));
  asked.once("response", (answered) => {
    boundary.cover(answered);
    const { statusCode = 0 } = answered;
    // Node refuses to write some of the others, and none of them is the end of a request.
    if (statusCode < 200 || statusCode > 599) return void asked.destroy();
    response.writeHead(statusCode, endToEnd(answered));
    pipeline(answered, response, () => undefined);
  });
  asked.on("error", fail);
  // A request that is destroyed without an error, such as one that is answered with an upgrade, says only this.
  asked.once("close", () => void (response.headersSent || fail()));
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
