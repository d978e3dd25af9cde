import type { Readable } from "node:stream";
import { unreachable } from "./link-errors.ts";

export interface ResponseDeadline extends Disposable {
  // Aborts at the deadline, or with the caller's signal.
  signal: AbortSignal;
  // Aborts before the deadline.
  abort(reason: Error): void;
}

// Limits the time until a daemon's response begins. undici restarts its own timer with every interim (1xx) response, so a daemon
// could postpone it forever. This deadline starts once the request's body is sent, however long that takes. Dispose of it when
// the response has begun.
export function startResponseDeadline(
  request: { body?: Readable | Buffer | string; signal?: AbortSignal },
  timeoutMs: number,
): ResponseDeadline {
  const controller = new AbortController();
  const abort = () => controller.abort(request.signal?.reason);
  let timer: NodeJS.Timeout | undefined;
  const start = () => {
    timer = setTimeout(() => controller.abort(unreachable(`no response within ${timeoutMs} ms`)), timeoutMs);
  };
  const stream = typeof request.body === "object" && "pipe" in request.body ? request.body : null;
  if (stream) stream.once("end", start);
  else start();
  if (request.signal?.aborted) abort();
  // Stays for as long as the response is read: the caller's signal also aborts its body.
  request.signal?.addEventListener("abort", abort, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    [Symbol.dispose]() {
      clearTimeout(timer);
      stream?.off("end", start);
    },
  };
}
