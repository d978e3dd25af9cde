import { request as httpRequest, type ClientRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction, Socket } from "node:net";
import { forwardableAnswer, type ForwardableAnswer } from "@berth/contract/forwarding/forwarding.ts";
import type { ConnectionBoundary } from "../../../faults/connection-boundary.ts";

export interface UpstreamRequest {
  url: string;
  method: "GET" | "POST";
  headers: Record<string, string>;
  body: Buffer[];
  // The longest wait for the answer to begin, and the longest silence within it.
  timeoutMs: number;
  // Aborts the request.
  signal: AbortSignal;
  lookup: LookupFunction;
  // Called when the request has ended. The connection may have served others before.
  onBytes: (bytes: { sentBytes: number; receivedBytes: number }) => void;
  // The provider is untrusted: a failure caused by its bytes closes only its own connection.
  boundary: ConnectionBoundary;
}

// A request to the provider.
export interface Upstream {
  // Resolves when the whole body is sent, or when the connection is closed.
  sent: Promise<void>;
  // Settles in any case, whatever the provider does.
  answer: Promise<ForwardableAnswer>;
  // No-op if the answer is complete.
  destroy(): void;
}

export function openUpstream({ url, method, headers, body, timeoutMs, signal, lookup, onBytes, boundary }: UpstreamRequest): Upstream {
  const target = new URL(url);
  const start = target.protocol === "https:" ? httpsRequest : httpRequest;
  const length = body.reduce((sum, { length: bytes }) => sum + bytes, 0);
  const outgoing = start(target, {
    method,
    headers: { ...headers, ...(length > 0 && { "content-length": length }) },
    timeout: timeoutMs,
    signal,
    lookup,
  });
  boundary.cover(outgoing);
  outgoing.once("socket", (connection) => {
    const { bytesWritten, bytesRead } = connection;
    closeWithProvider(connection);
    outgoing.once("close", () => {
      const { socket } = outgoing;
      if (socket) onBytes({ sentBytes: socket.bytesWritten - bytesWritten, receivedBytes: socket.bytesRead - bytesRead });
    });
  });
  outgoing.once("response", boundary.cover);
  const answer = answerTo(outgoing, timeoutMs);
  // The caller awaits the answer later. Until then a rejection must not count as unhandled.
  answer.catch(() => {});
  const { promise: sent, resolve: onSent } = Promise.withResolvers<void>();
  outgoing.once("finish", onSent).once("close", onSent);
  for (const piece of body) outgoing.write(piece);
  outgoing.end();
  return { sent, answer, destroy: () => void outgoing.destroy() };
}

const watched = new WeakSet<Socket>();

// Node keeps connections for later requests. One that the provider has closed must not get another, which would fail.
function closeWithProvider(connection: Socket): void {
  if (watched.has(connection)) return;
  watched.add(connection);
  connection.on("end", () => connection.destroy());
}

function answerTo(outgoing: ClientRequest, timeoutMs: number): Promise<ForwardableAnswer> {
  const giveUp = () => outgoing.destroy(new Error("The model's provider did not answer in time"));
  // Every byte restarts the request's own timeout, so it does not limit the time until the answer.
  const deadline = setTimeout(giveUp, timeoutMs);
  outgoing.on("timeout", giveUp);
  return forwardableAnswer(outgoing).finally(() => clearTimeout(deadline));
}
