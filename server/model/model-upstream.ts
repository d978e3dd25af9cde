import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";

export interface UpstreamRequest {
  url: string;
  method: "GET" | "POST";
  headers: Record<string, string>;
  body: Buffer[];
  // Without a byte in either direction.
  idleTimeoutMs: number;
  // Ends the request.
  signal: AbortSignal;
}

// A request on its way to the provider.
export interface Upstream {
  // Resolves when the whole body has been handed over, or when the connection is gone.
  sent: Promise<void>;
  answer: Promise<IncomingMessage>;
  destroy(): void;
}

export function openUpstream({ url, method, headers, body, idleTimeoutMs, signal }: UpstreamRequest): Upstream {
  const target = new URL(url);
  const start = target.protocol === "https:" ? httpsRequest : httpRequest;
  const length = body.reduce((sum, { length: bytes }) => sum + bytes, 0);
  const outgoing = start(target, {
    method,
    headers: { ...headers, ...(length > 0 && { "content-length": length }) },
    timeout: idleTimeoutMs,
    signal,
  });
  const answer = answerTo(outgoing);
  // A failure is handled when the answer is waited for; until then it must not count as unhandled.
  answer.catch(() => {});
  const { promise: sent, resolve: onSent } = Promise.withResolvers<void>();
  outgoing.once("finish", onSent).once("close", onSent);
  for (const piece of body) outgoing.write(piece);
  outgoing.end();
  return { sent, answer, destroy: () => void outgoing.destroy() };
}

function answerTo(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.on("timeout", () => outgoing.destroy(new Error("The model's provider did not answer in time")));
    outgoing.on("error", reject);
    outgoing.on("response", resolve);
  });
}
