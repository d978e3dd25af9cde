import { request as httpRequest, type RequestOptions, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { TOKEN_HEADER } from "@berth/contract/daemon.ts";
import {
  bodyFraming,
  discardUnreadBody,
  endToEndHeaders,
  forwardableAnswer,
  type ForwardableAnswer,
} from "@berth/contract/forwarding/forwarding.ts";
import type { Call } from "./route.ts";

// Sends a request on to a server that may belong to the sandbox's user. Resolves when the answer begins. Rejects if there is none, or one
// that cannot be passed on.
export function sendUpstream(
  { request, response, cover }: Pick<Call, "request" | "response" | "cover">,
  upstream: Pick<RequestOptions, "createConnection" | "host" | "port" | "path" | "agent">,
): Promise<ForwardableAnswer> {
  const { [TOKEN_HEADER]: _token, host, ...others } = endToEndHeaders(request.headers);
  // First and in the usual letters, because small servers compare names as they are.
  const headers = { ...(host !== undefined && { Host: host }), ...others };
  const framing = bodyFraming(request.headers);
  const outgoing = httpRequest({ ...upstream, method: request.method, headers: { ...headers, ...framing }, setHost: false });
  cover(outgoing);
  outgoing.once("response", cover);
  response.once("close", () => {
    outgoing.destroy();
    discardUnreadBody(request);
  });
  if (response.destroyed) outgoing.destroy();
  else if (framing) request.pipe(outgoing);
  else outgoing.end();
  return forwardableAnswer(outgoing);
}

// Throws if Node refuses to send the head.
export function sendAnswer(answer: ForwardableAnswer, response: ServerResponse): void {
  response.writeHead(answer.statusCode, endToEndHeaders(answer.headers));
  response.flushHeaders();
  answer.on("error", () => response.destroy());
  answer.pipe(response);
}

// Passes on all bytes, both ways. If one side is closed, so is the other.
export function joinSockets(one: Duplex, other: Duplex): void {
  one.pipe(other).pipe(one);
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const)
    for (const event of ["error", "close"]) from.on(event, () => to.destroy());
}
