import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import type { ConnectionBoundary } from "../../faults/connection-boundary.ts";
import { RelayRefusal } from "./relay-refusal.ts";

export interface UpstreamRequest {
  // A connection to the upstream, used for this request only.
  socket: Socket;
  method: string;
  url: URL;
  headers: OutgoingHttpHeaders;
  body: Readable;
  boundary: ConnectionBoundary;
  idleTimeoutMs: number;
}

// Upstreams send few of these (100, 103).
const MAX_INTERIM_ANSWERS = 16;

// Sends a request with its body as it arrives. Resolves when the answer begins.
export function sendUpstream({ socket, method, url, headers, body, boundary, idleTimeoutMs }: UpstreamRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = httpRequest({
    createConnection: () => socket,
    method,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, connection: "close" },
    setHost: false,
  });
  boundary.cover(outgoing);
  let interim = 0;
  socket.setTimeout(idleTimeoutMs, () => socket.destroy());
  outgoing.on("information", () => void (++interim > MAX_INTERIM_ANSWERS && outgoing.destroy()));
  outgoing.once("response", (answer) => {
    boundary.cover(answer);
    const { statusCode = 0 } = answer;
    if (statusCode >= 200 && statusCode <= 599) return resolve(answer);
    outgoing.destroy();
  });
  outgoing.on("error", () => reject(lost(url)));
  // Also the end of a request that is answered with an upgrade.
  outgoing.once("close", () => reject(lost(url)));
  body.on("error", (error) => {
    reject(error);
    outgoing.destroy();
  });
  body.pipe(outgoing);
  return promise;
}

const lost = ({ host }: URL) => new RelayRefusal(502, `${host} closed the connection.`);
