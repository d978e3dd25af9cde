import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { AppError, type SandboxId } from "@berth/contract";
import { bodyFraming, discardUnreadBody } from "@berth/contract/forwarding/forwarding.ts";
import { Cancellation } from "../../bounded-io/cancellation.ts";
import type { DaemonLinks, LinkRequest, LinkResponse } from "../../daemon-link/daemon-links.ts";
import { takeWhole } from "../../daemon-link/link-exchange.ts";
import type { OutputLimit } from "../../event-loop/output-limit.ts";
import { limitBytes } from "../../forwarding/limit-bytes.ts";
import type { Span } from "../../tracing/span.ts";
import { createReadSwitch } from "./read-switch.ts";
import { announcesExitCode, trailersFromSandbox } from "./sandbox-headers.ts";

export interface HttpRelayDeps {
  links: Pick<DaemonLinks, "request">;
  outputLimit: OutputLimit;
}

export interface HttpRelayRequest {
  request: IncomingMessage;
  response: ServerResponse;
  sandboxId: SandboxId;
  path: string;
  headers: Record<string, string>;
  // Chooses the daemon's response headers that reach the caller.
  responseHeaders: (headers: IncomingHttpHeaders) => Record<string, string | string[]>;
  // Runs before anything is sent to the caller. Returns true if it has sent its own reply instead of the daemon's. If it
  // throws, nothing is sent.
  intercept?: (daemonResponse: LinkResponse) => boolean;
  // Text to add at the end of the daemon's response.
  appendix?: (headers: IncomingHttpHeaders) => string | null;
  // The last line of a response of lines that the daemon has begun and cannot end. null: the connection is cut.
  lastLine?: (headers: IncomingHttpHeaders) => Promise<string | null>;
  maxBodyBytes?: number;
  // Absent for previews: their requests belong to traces of the user, if to any.
  span?: Span | undefined;
}

const MAX_BODY_BYTES = 4 * 1024 ** 3;

// Relays one HTTP request to a daemon and streams the response back, with back-pressure both ways. If either side
// disconnects, the other side is released.
//
// Resolves when the response is sent or the caller has disconnected. Rejects, before anything is sent, if the daemon does
// not respond. A failure in the middle of the response cuts the connection, so that the caller sees an incomplete response.
export async function relayHttp({ links, outputLimit }: HttpRelayDeps, relayed: HttpRelayRequest): Promise<void> {
  const { request, response, sandboxId, path, headers } = relayed;
  const callerGone = new Cancellation();
  // The response also closes when it is complete.
  const abort = () => (response.writableFinished && request.complete) || callerGone.abort(CALLER_GONE);
  response.on("close", abort);
  try {
    const body = bodyOf(request, relayed.maxBodyBytes ?? MAX_BODY_BYTES);
    const daemonRequest: LinkRequest = {
      method: request.method ?? "GET",
      path,
      headers,
      bodyTimeoutMs: 0,
      signal: callerGone,
      span: relayed.span,
      ...(body && { body }),
    };
    const countOutput = (bytes: number) => outputLimit.count(sandboxId, bytes);
    await sendResponse(await links.request(sandboxId, daemonRequest), relayed, countOutput);
  } catch (error) {
    if (error !== CALLER_GONE && !callerGone.aborted) throw error;
  } finally {
    response.off("close", abort);
    discardUnreadBody(request);
  }
}

const CALLER_GONE = new Error("the caller has disconnected");

async function sendResponse(daemonResponse: LinkResponse, relayed: HttpRelayRequest, countOutput: CountOutput): Promise<void> {
  const { status, headers, body } = daemonResponse;
  const { request, response } = relayed;
  try {
    if (relayed.intercept?.(daemonResponse)) return;
    const appendix = relayed.appendix?.(headers) ?? "";
    const hasBody = request.method !== "HEAD" && status !== 204 && status !== 304;
    const hasTrailer = hasBody && request.httpVersionMinor >= 1 && announcesExitCode(headers);
    const whole = hasBody && appendix === "" ? takeWhole(body) : null;
    const chosen = relayed.responseHeaders(headers);
    if (hasTrailer) chosen["trailer"] = "X-Exit-Code";
    else if (whole) chosen["content-length"] = String(whole.length);
    else if (appendix !== "" && chosen["content-length"] !== undefined)
      chosen["content-length"] = String(Number(chosen["content-length"]) + appendix.length);
    response.writeHead(status, chosen);
    if (!hasBody) return void response.end();
    if (whole) {
      if (hasTrailer) response.addTrailers(trailersFromSandbox(daemonResponse.trailers));
      const waitMs = countOutput(whole.length);
      if (waitMs > 0) await delay(waitMs);
      return void response.end(whole);
    }
    const lastLine = async () => (await relayed.lastLine?.(headers)) ?? null;
    await streamBody(daemonResponse, response, { countOutput, appendix, lastLine, hasTrailer });
  } finally {
    // undici would keep the connection busy for an unread body.
    body.destroy();
  }
}

function streamBody({ body, trailers }: LinkResponse, response: ServerResponse, options: BodyOptions): Promise<void> {
  // Callers of a slow stream learn that it has started.
  setImmediate(() => response.writableEnded || response.flushHeaders());
  if (options.hasTrailer) body.once("end", () => response.addTrailers(trailersFromSandbox(trailers)));
  return pipeBody(body, response, options);
}

type CountOutput = (bytes: number) => number;

interface BodyOptions {
  countOutput: CountOutput;
  appendix: string;
  lastLine: () => Promise<string | null>;
  hasTrailer: boolean;
}

const NEWLINE = 10;

// Like stream.pipeline, which would create an AbortError with its stack for every successful response.
function pipeBody(body: Readable, response: ServerResponse, { countOutput, appendix, lastLine }: BodyOptions): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) return resolve();
    const reading = createReadSwitch(body);
    let isLineOver = true;
    const endEarly = async () => {
      const line = isLineOver ? await lastLine().catch(() => null) : null;
      if (line === null) response.destroy();
      else response.end(line);
    };
    body.on("data", (bytes: Buffer) => {
      isLineOver = bytes.at(-1) === NEWLINE;
      if (!response.write(bytes)) reading.waitForDrain();
      reading.waitFor(countOutput(bytes.length));
    });
    body.once("end", () => response.end(appendix));
    body.once("error", () => void endEarly());
    response.on("drain", () => reading.drained());
    response.once("close", resolve);
  });
}

// A body that has come with its head is sent on at once: a stream of it costs more than the rest of the relay.
function bodyOf(request: IncomingMessage, maxBytes: number): Readable | Buffer | undefined {
  const framing = bodyFraming(request.headers);
  const declaredBytes = Number(framing?.["content-length"] ?? NaN);
  if (!framing || declaredBytes === 0) return undefined;
  const tooLarge = () => new AppError("body_too_large", { message: `The request body is larger than ${maxBytes} bytes` });
  if (declaredBytes > maxBytes) throw tooLarge();
  if (request.readableLength === declaredBytes) {
    const body = request.read() as Buffer;
    // Only a stream that is read to its end lets Node read the next request.
    request.resume();
    return body;
  }
  return limitBytes(request, { maxBytes, tooLarge, cut: () => CALLER_GONE });
}
