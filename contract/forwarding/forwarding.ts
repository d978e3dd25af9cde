// The rules for every request that we forward from one HTTP peer to another: egress, relays, previews and ports.
import type { ClientRequest, IncomingMessage } from "node:http";

export type ForwardedHeaders = Readonly<Record<string, string | string[] | undefined>>;

// Hop-by-hop headers (RFC 9110), and `expect`, which our own server has answered.
const HOP_BY_HOP: ReadonlySet<string> = new Set(
  "connection expect http2-settings keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade".split(
    " ",
  ),
);

// Removes the headers that concern only the connection to our own server. Connection may name more of them.
export function endToEndHeaders<Headers extends ForwardedHeaders>(headers: Headers): Headers {
  const named = new Set(
    String(headers["connection"] ?? "")
      .split(",")
      .map((name) => name.trim().toLowerCase()),
  );
  const kept = Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name) && !named.has(name));
  return Object.fromEntries(kept) as Headers;
}

// The header that says where the body of a request ends. null: there is no body. It must be sent for every
// method, whatever Connection names: an upstream takes the bytes of a body without it for a second request.
export function bodyFraming(headers: ForwardedHeaders): Record<string, string> | null {
  if (headers["transfer-encoding"] !== undefined) return { "transfer-encoding": "chunked" };
  const length = headers["content-length"];
  return typeof length === "string" ? { "content-length": length } : null;
}

// Node refuses to write some other statuses, and none of them ends a request.
export const isForwardableStatus = (status: number | undefined): status is number => status !== undefined && status >= 200 && status <= 599;

// Upstreams send few interim (1xx) answers, and none is passed on. Each one restarts an idle timeout, so without a limit they could hold
// a connection. Returns a function to call for each of them.
export function limitInterimAnswers(end: (reason: Error) => void): () => void {
  let count = 0;
  return () => void (++count > MAX_INTERIM_ANSWERS && end(new Error("The upstream sends too many interim answers")));
}

const MAX_INTERIM_ANSWERS = 16;

export type ForwardableAnswer = IncomingMessage & { statusCode: number };

// Resolves when the final answer begins. Rejects if there is none, or one that cannot be passed on; the request is over then.
export function forwardableAnswer(outgoing: ClientRequest): Promise<ForwardableAnswer> {
  return new Promise((resolve, reject) => {
    outgoing.on(
      "information",
      limitInterimAnswers((reason) => outgoing.destroy(reason)),
    );
    outgoing.on("response", (answer) => {
      if (!isForwardableStatus(answer.statusCode)) return void outgoing.destroy(new Error("The upstream sent an invalid status"));
      // After the bytes that arrived with it: if they are not HTTP, the answer must not look complete.
      queueMicrotask(() => resolve(answer as ForwardableAnswer));
    });
    outgoing.on("error", reject);
    // The only event of a request that ends without an error, such as one that is answered with an upgrade.
    outgoing.on("close", () => reject(new Error("The upstream closed the connection without an answer")));
  });
}

// An upstream may answer before it has read the whole body, for instance when its disk is full. The caller's next request follows that
// body on the same connection, and Node discards only bodies that no code has started to read.
export function discardUnreadBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.unpipe().resume();
  const timer = setTimeout(() => request.destroy(), DISCARD_TIMEOUT_MS).unref();
  for (const event of ["end", "close"]) request.once(event, () => clearTimeout(timer));
}

const DISCARD_TIMEOUT_MS = 10_000;
