import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { limitInterimAnswers } from "@berth/contract/forwarding/forwarding.ts";
import { unreachable } from "./link-errors.ts";

export interface ExchangeRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Readable | Buffer | string | null;
  // The longest wait for the response to begin, and the longest silence within it (0: no limit).
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
  // Ends the response, too.
  signal: AbortSignal | undefined;
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Readable;
  // Filled in when the body has ended.
  trailers: Record<string, string>;
}

type Controller = Dispatcher.DispatchController;

// Sends a request and resolves when its response begins. undici's own `request` would need a second signal for our deadline, and does
// more for every response than we use.
export function exchange(dispatcher: Dispatcher, request: ExchangeRequest): Promise<Answer> {
  const { method, path, headers, body, headersTimeoutMs: headersTimeout, bodyTimeoutMs: bodyTimeout } = request;
  const options = { method, path, headers, body, headersTimeout, bodyTimeout };
  return new Promise((resolve, reject) => void dispatcher.dispatch(options, createHandler(request, resolve, reject)));
}

// undici restarts its own timer with every interim (1xx) response, so a daemon could postpone it forever. The deadline here starts once
// the request's body is sent, however long that takes.
function createHandler(
  { body, headersTimeoutMs, signal }: ExchangeRequest,
  resolve: (answer: Answer) => void,
  reject: (error: unknown) => void,
): Dispatcher.DispatchHandler {
  let controller: Controller | undefined;
  let stopped: { reason: Error } | undefined;
  let answer: Answer | undefined;
  let countInterim: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;

  function stop(reason: Error): void {
    stopped ??= { reason };
    if (answer) answer.body.destroy(reason);
    else if (controller) controller.abort(reason);
    else fail(reason);
  }

  const startDeadline = () => {
    const timeOut = () => stop(unreachable(`no response within ${headersTimeoutMs} ms`));
    if (!answer && !stopped) timer ??= setTimeout(timeOut, headersTimeoutMs);
  };
  const onAbort = () => stop(signal?.reason as Error);
  const release = () => signal?.removeEventListener("abort", onAbort);
  const fail = (reason: unknown) => {
    clearTimeout(timer);
    release();
    reject(reason);
  };
  if (signal?.aborted) onAbort();
  else signal?.addEventListener("abort", onAbort, { once: true });
  const stream = body instanceof Readable ? body : null;
  if (!stream) startDeadline();

  return {
    onRequestStart(started) {
      controller = started;
      if (stopped) started.abort(stopped.reason);
    },
    onRequestSent: startDeadline,
    onResponseStart(started, status, headers) {
      if (status < 200) return (countInterim ??= limitInterimAnswers(stop))();
      clearTimeout(timer);
      answer = { status, headers, trailers: {}, body: createBody(started, release) };
      resolve(answer);
    },
    onResponseData(started, bytes) {
      if (!answer!.body.push(bytes)) started.pause();
    },
    onResponseEnd(_started, trailers) {
      Object.assign(answer!.trailers, trailers);
      answer!.body.push(null);
    },
    onResponseError(_started, error) {
      stream?.on("error", ignore).destroy(error);
      if (answer) answer.body.destroy(error);
      else fail(error);
    },
  };
}

const ignore = () => {};

const HIGH_WATER_BYTES = 64 * 1024;

function createBody(controller: Controller, release: () => void): Readable {
  return new Readable({
    highWaterMark: HIGH_WATER_BYTES,
    read: () => controller.resume(),
    destroy(error, done) {
      release();
      const reason = error ?? (this.readableEnded ? null : new Error("the response was not read to its end"));
      if (reason) controller.abort(reason);
      // The caller gets the body a moment after it begins, and must not miss its error.
      if (reason && this.readableFlowing === null) setImmediate(done, reason);
      else done(reason);
    },
  });
}
