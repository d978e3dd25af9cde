import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { MAX_INTERIM_ANSWERS } from "@berth/contract/forwarding.ts";
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
  answer: Promise<IncomingMessage>;
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
  outgoing.once("socket", ({ bytesWritten, bytesRead }) => {
    outgoing.once("close", () => {
      const { socket } = outgoing;
      if (socket) onBytes({ sentBytes: socket.bytesWritten - bytesWritten, receivedBytes: socket.bytesRead - bytesRead });
    });
  });
  outgoing.once("response", (response) => boundary.cover(response));
  const answer = answerTo(outgoing, timeoutMs);
  // The caller awaits the answer later. Until then a rejection must not count as unhandled.
  answer.catch(() => {});
  const { promise: sent, resolve: onSent } = Promise.withResolvers<void>();
  outgoing.once("finish", onSent).once("close", onSent);
  for (const piece of body) outgoing.write(piece);
  outgoing.end();
  return { sent, answer, destroy: () => void outgoing.destroy() };
}

function answerTo(outgoing: ClientRequest, timeoutMs: number): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const giveUp = () => outgoing.destroy(new Error("The model's provider did not answer in time"));
  // Every byte restarts the request's own timeout, so it does not limit the time until the answer.
  const deadline = setTimeout(giveUp, timeoutMs);
  let interim = 0;
  outgoing.on("timeout", giveUp);
  outgoing.on("information", () => {
    if (++interim > MAX_INTERIM_ANSWERS) outgoing.destroy(new Error("The model's provider sends too many interim answers"));
  });
  // Without a listener, Node closes the connection without an error.
  outgoing.on("upgrade", (_answer, socket) => {
    socket.destroy();
    outgoing.destroy(new Error("The model's provider asked to switch protocols"));
  });
  outgoing.on("response", resolve);
  outgoing.on("error", reject);
  outgoing.on("close", () => reject(new Error("The model's provider closed the connection without an answer")));
  return promise.finally(() => clearTimeout(deadline));
}
