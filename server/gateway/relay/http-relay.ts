import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { AppError, type SandboxId } from "@berth/contract";
import { bodyFraming, discardUnreadBody } from "@berth/contract/forwarding/forwarding.ts";
import type { DaemonLinks, LinkRequest, LinkResponse } from "../../daemon-link/daemon-links.ts";
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
  const callerGone = new AbortController();
  // The response also closes when it is complete. Aborting takes longer than everything else that is done for a small one.
  const abort = () => (response.writableFinished && request.complete) || callerGone.abort(CALLER_GONE);
  response.once("close", abort);
  try {
    const body = bodyOf(request, relayed.maxBodyBytes ?? MAX_BODY_BYTES);
    const daemonRequest: LinkRequest = {
      method: request.method ?? "GET",
      path,
      headers,
      bodyTimeoutMs: 0,
      signal: callerGone.signal,
      span: relayed.span,
      ...(body && { body }),
    };
    const countOutput = (bytes: number) => outputLimit.count(sandboxId, bytes);
    await sendResponse(await links.request(sandboxId, daemonRequest), relayed, countOutput);
  } catch (error) {
    if (error !== CALLER_GONE && !callerGone.signal.aborted) throw error;
  } finally {
    response.off("close", abort);
    discardUnreadBody(request);
  }
}

const CALLER_GONE = new Error("the caller has disconnected");

async function sendResponse(daemonResponse: LinkResponse, relayed: HttpRelayRequest, countOutput: CountOutput): Promise<void> {
  try {
    if (relayed.intercept?.(daemonResponse)) return;
    const appendix = relayed.appendix?.(daemonResponse.headers) ?? "";
    const { hasBody } = sendHead(daemonResponse, relayed, appendix.length);
    const lastLine = async () => (await relayed.lastLine?.(daemonResponse.headers)) ?? null;
    if (hasBody) await pipeBody(daemonResponse.body, relayed.response, { countOutput, appendix, lastLine });
  } finally {
    // undici would keep the connection busy for an unread body.
    daemonResponse.body.destroy();
  }
}

function sendHead(
  { status, headers, trailers, body }: LinkResponse,
  { request, response, responseHeaders }: HttpRelayRequest,
  appendixBytes: number,
): { hasBody: boolean } {
  const hasBody = request.method !== "HEAD" && status !== 204 && status !== 304;
  const hasTrailer = hasBody && request.httpVersionMinor >= 1 && announcesExitCode(headers);
  const chosen = responseHeaders(headers);
  if (appendixBytes > 0 && chosen["content-length"] !== undefined)
    chosen["content-length"] = String(Number(chosen["content-length"]) + appendixBytes);
  response.writeHead(status, { ...chosen, ...(hasTrailer && { trailer: "X-Exit-Code" }) });
  // Callers of a slow stream learn that it has started. A body that has come with its head leaves with it.
  if (hasBody) setImmediate(() => response.writableEnded || response.flushHeaders());
  else response.end();
  if (hasTrailer) body.once("end", () => response.addTrailers(trailersFromSandbox(trailers)));
  return { hasBody };
}

type CountOutput = (bytes: number) => number;

interface BodyOptions {
  countOutput: CountOutput;
  appendix: string;
  lastLine: () => Promise<string | null>;
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
