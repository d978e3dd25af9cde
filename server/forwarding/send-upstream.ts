import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import type { Readable, Duplex } from "node:stream";
import { bodyFraming, forwardableAnswer, type ForwardableAnswer } from "@berth/contract/forwarding/forwarding.ts";
import type { ConnectionBoundary } from "../faults/connection-boundary.ts";

export interface UpstreamRequest {
  // The request that is forwarded.
  request: IncomingMessage;
  // Its body, if it is not passed on as it is.
  body?: Readable;
  // A connection to the upstream, used for this request only.
  socket: Duplex;
  path: string;
  headers: OutgoingHttpHeaders;
  boundary: ConnectionBoundary;
}

// Sends a request with its body as it arrives. Resolves when the answer begins. Rejects if there is none, or one that cannot be
// passed on. The upstream is untrusted: it may belong to the sandbox's user.
export function sendUpstream({ request, body = request, socket, path, headers, boundary }: UpstreamRequest): Promise<ForwardableAnswer> {
  const framing = bodyFraming(request.headers);
  const outgoing = httpRequest({
    createConnection: () => socket,
    method: request.method,
    path,
    headers: { ...headers, ...framing, connection: "close" },
    setHost: false,
  });
  boundary.cover(outgoing);
  outgoing.once("response", boundary.cover);
  body.on("error", (error) => void outgoing.destroy(error));
  if (framing) body.pipe(outgoing);
  else outgoing.end();
  return forwardableAnswer(outgoing);
}
