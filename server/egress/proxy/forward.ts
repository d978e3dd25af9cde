import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import { pipeline, type Duplex } from "node:stream";
import { discardUnreadBody, endToEndHeaders } from "@berth/contract/forwarding/forwarding.ts";
import type { ConnectionBoundary } from "../../faults/connection-boundary.ts";
import { sendRefusal } from "../../forwarding/send-refusal.ts";
import { sendUpstream } from "../../forwarding/send-upstream.ts";
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

// Sends a plain HTTP request to the target and its answer back. The caller follows redirects itself, through the same checks.
export async function forwardRequest({ request, response, target, outer, boundary }: ForwardedRequest): Promise<void> {
  response.once("close", () => outer.destroy());
  try {
    // The checked host, whatever the Host header of the sandbox says.
    const headers = { ...endToEndHeaders(request.headers), host: target.authority };
    const answer = await sendUpstream({ request, socket: outer, path: target.path, headers, boundary });
    response.writeHead(answer.statusCode, endToEndHeaders(answer.headers));
    pipeline(answer, response, () => discardUnreadBody(request));
  } catch {
    sendRefusal(response, 502, `${target.host} closed the connection`);
  }
}

// A refusal as the bytes of an HTTP answer, for CONNECT.
export function refusalBytes({ status, reason }: Refusal): string {
  const body = `berth: ${reason}\n`;
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close`;
  return `${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
