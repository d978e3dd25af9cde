import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { limitInterimAnswers } from "@berth/contract/forwarding/forwarding.ts";
import type { CancelSignal } from "../bounded-io/cancellation.ts";
import { coverableClass } from "../faults/connection-boundary.ts";
import { unreachable } from "./link-errors.ts";
import { toNodeHeaders } from "./link-pool.ts";

export interface ExchangeRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Readable | Buffer | string | null;
  // The longest wait for the response to begin, and the longest silence within it (0: no limit).
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
  // Ends the response, too.
  signal: CancelSignal | undefined;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Readable;
  // Filled in when the body has ended.
  trailers: Record<string, string>;
}

// Sends a request and resolves when its response begins. undici's own `request` would need a second signal for our deadline, and does
// more for every response than we use.
export function exchange(dispatcher: Dispatcher, request: ExchangeRequest): Promise<Answer> {
  const { method, path, headers, body, headersTimeoutMs: headersTimeout, bodyTimeoutMs: bodyTimeout } = request;
  const options = { method, path, headers, body, headersTimeout, bodyTimeout };
  return new Promise((resolve, reject) => void dispatcher.dispatch(options, new Exchange(request, resolve, reject)));
}

// The whole body, if it has come with its head: to pass it on as a stream would cost more than the rest of a small response. null: read
// it as a stream.
export const takeWhole = (body: Readable): Buffer | null => (body instanceof AnswerBody ? body.takeWhole() : null);

type Controller = Dispatcher.DispatchController;

// One request and its response. A class, so that a request makes one object instead of a dozen functions.
//
// undici restarts its own timer with every interim (1xx) response, so a daemon could postpone it forever. The deadline here starts once
// the request's body is sent, however long that takes.
class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: ExchangeRequest;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #onAbort: (() => void) | undefined;
  #controller: Controller | undefined = undefined;
  #stopped: { reason: Error } | undefined = undefined;
  #body: AnswerBody | undefined = undefined;
  #trailers: Record<string, string> = {};
  #countInterim: (() => void) | undefined = undefined;
  #timer: NodeJS.Timeout | undefined = undefined;

  constructor(request: ExchangeRequest, resolve: (answer: Answer) => void, reject: (error: unknown) => void) {
    this.#request = request;
    this.#resolve = resolve;
    this.#reject = reject;
    const { signal, body } = request;
    this.#onAbort = signal && (() => this.#stop(signal.reason as Error));
    if (signal?.aborted) this.#onAbort!();
    else signal?.addEventListener("abort", this.#onAbort!, { once: true });
    if (!(body instanceof Readable)) this.#startDeadline();
  }

  onRequestStart(started: Controller): void {
    this.#controller = started;
    if (this.#stopped) started.abort(this.#stopped.reason);
  }

  onRequestSent(): void {
    this.#startDeadline();
  }

  onResponseStart(started: Controller, status: number, headers: Record<string, string | string[] | undefined>): void {
    if (status < 200) return (this.#countInterim ??= limitInterimAnswers((reason) => this.#stop(reason)))();
    clearTimeout(this.#timer);
    this.#body = new AnswerBody(started, this);
    this.#resolve({ status, headers: toNodeHeaders(headers), trailers: this.#trailers, body: this.#body });
  }

  onResponseData(started: Controller, bytes: Buffer): void {
    if (!this.#body!.push(bytes)) started.pause();
  }

  onResponseEnd(_started: Controller, trailers: Record<string, string | string[] | undefined>): void {
    Object.assign(this.#trailers, trailers);
    this.#body!.complete();
  }

  onResponseError(_started: Controller, error: Error): void {
    const { body } = this.#request;
    if (body instanceof Readable) body.on("error", ignore).destroy(error);
    if (this.#body) this.#body.destroy(error);
    else this.#fail(error);
  }

  // The caller's signal has no effect any more.
  release(): void {
    if (this.#onAbort) this.#request.signal?.removeEventListener("abort", this.#onAbort);
  }

  #startDeadline(): void {
    if (this.#body || this.#stopped) return;
    this.#timer ??= setTimeout(timeOut, this.#request.headersTimeoutMs, this);
  }

  onDeadline(): void {
    this.#stop(unreachable(`no response within ${this.#request.headersTimeoutMs} ms`));
  }

  #stop(reason: Error): void {
    this.#stopped ??= { reason };
    if (this.#body) this.#body.destroy(reason);
    else if (this.#controller) this.#controller.abort(reason);
    else this.#fail(reason);
  }

  #fail(reason: unknown): void {
    clearTimeout(this.#timer);
    this.release();
    this.#reject(reason);
  }
}

const timeOut = (exchanged: Exchange) => exchanged.onDeadline();
const ignore = () => {};

const HIGH_WATER_BYTES = 64 * 1024;
const OPTIONS = { highWaterMark: HIGH_WATER_BYTES };
const NOTHING = Buffer.alloc(0);

class AnswerBody extends coverableClass(Readable) {
  readonly #controller: Controller;
  readonly #exchange: Exchange;
  #isComplete = false;
  #isTaken = false;

  constructor(controller: Controller, exchanged: Exchange) {
    super(OPTIONS);
    this.#controller = controller;
    this.#exchange = exchanged;
  }

  complete(): void {
    this.#isComplete = true;
    this.push(null);
  }

  takeWhole(): Buffer | null {
    if (!this.#isComplete || this.#isTaken || this.destroyed) return null;
    this.#isTaken = true;
    return (this.read() as Buffer | null) ?? NOTHING;
  }

  override _read(): void {
    this.#controller.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#exchange.release();
    const reason = error ?? (this.readableEnded || this.#isTaken ? null : new Error("the response was not read to its end"));
    if (reason) this.#controller.abort(reason);
    // The caller gets the body a moment after it begins, and must not miss its error.
    if (reason && this.readableFlowing === null) setImmediate(done, reason);
    else done(reason);
  }
}
