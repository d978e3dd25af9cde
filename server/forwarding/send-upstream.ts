import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import type { Readable, Duplex } from "node:stream";
import { bodyFraming, isForwardableStatus, MAX_INTERIM_ANSWERS } from "@berth/contract/forwarding.ts";
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
export function sendUpstream({ request, body = request, socket, path, headers, boundary }: UpstreamRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const framing = bodyFraming(request.headers);
  const outgoing = httpRequest({
    createConnection: () => socket,
    method: request.method,
    path,
    headers: { ...headers, ...framing, connection: "close" },
    setHost: false,
  });
  boundary.cover(outgoing);
  let interim = 0;
  outgoing.on("information", () => void (++interim > MAX_INTERIM_ANSWERS && outgoing.destroy()));
  outgoing.once("response", (answer) => {
    boundary.cover(answer);
    if (!isForwardableStatus(answer.statusCode)) return void outgoing.destroy();
    // After the bytes that arrived with it: if they are not HTTP, the answer must not look complete.
    queueMicrotask(() => resolve(answer));
  });
  outgoing.on("error", reject);
  // The only event of a request that ends without an error, such as one that is answered with an upgrade.
  outgoing.once("close", () => reject(new Error("The upstream closed the connection")));
  body.on("error", (error) => {
    reject(error);
    outgoing.destroy();
  });
  if (framing) body.pipe(outgoing);
  else outgoing.end();
  return promise;
}
