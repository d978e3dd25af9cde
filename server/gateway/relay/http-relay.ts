import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { Transform, type Readable } from "node:stream";
import { AppError, type SandboxId } from "@berth/contract";
import { announcesExitCode, fromDaemonTrailers } from "./sandbox-headers.ts";
import type { LinkRequest, LinkResponse, DaemonLinks } from "../../daemon-link/daemon-links.ts";

// Passes one HTTP request on to a daemon and its answer back, both as streams: whoever is slower sets the pace, and
// when either side leaves the other is let go. Resolves when the answer is sent or the caller has left; rejects, with
// nothing sent yet, when the daemon gave no answer. A failure in the middle of an answer cuts the connection, so that
// the caller cannot take the part for the whole.
export interface Passage {
  request: IncomingMessage;
  response: ServerResponse;
  sandboxId: SandboxId;
  path: string;
  headers: Record<string, string>;
  // Which of the answer's headers may pass.
  answerHeaders: (headers: IncomingHttpHeaders) => Record<string, string | string[]>;
  // Looks at the answer before anything of it is sent. When it throws, nothing is; when it has sent something itself, it
  // says so with `true`.
  inspect?: (answer: LinkResponse) => boolean;
  maxBodyBytes?: number;
}

const MAX_BODY_BYTES = 4 * 1024 ** 3;

export async function relay(links: Pick<DaemonLinks, "request">, passage: Passage): Promise<void> {
  const { request, response, sandboxId, path, headers } = passage;
  const gone = new AbortController();
  const leave = () => gone.abort(CALLER_LEFT);
  response.once("close", leave);
  try {
    const body = bodyOf(request, passage.maxBodyBytes ?? MAX_BODY_BYTES);
    const asked: LinkRequest = {
      method: request.method ?? "GET",
      path,
      headers,
      bodyTimeoutMs: 0,
      signal: gone.signal,
      ...(body && { body }),
    };
    await send(await links.request(sandboxId, asked), passage);
  } catch (error) {
    if (error !== CALLER_LEFT && !gone.signal.aborted) throw error;
  } finally {
    response.off("close", leave);
    forgetRest(request);
  }
}

const REST_MS = 10_000;

// What a daemon did not want of a body (its disk is full, say) is read and forgotten for a while: the caller's next request
// stands behind it on the same connection, and Node takes care only of bodies that nobody has begun to read.
function forgetRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.unpipe().resume();
  const timer = setTimeout(() => request.destroy(), REST_MS).unref();
  for (const event of ["end", "close"]) request.once(event, () => clearTimeout(timer));
}

const CALLER_LEFT = new Error("the caller has left");

async function send(answer: LinkResponse, passage: Passage): Promise<void> {
  try {
    if (answer.status < 200 || answer.status > 599) throw new AppError("sandbox_unreachable");
    if (passage.inspect?.(answer) || !sendHead(answer, passage)) return;
    await pump(answer.body, passage.response);
  } finally {
    // Whatever of the answer is not wanted; undici would keep its connection for it.
    answer.body.destroy();
  }
}

// Says whether there is a body to send.
function sendHead({ status, headers, trailers, body }: LinkResponse, { request, response, answerHeaders }: Passage): boolean {
  const bare = request.method === "HEAD" || status === 204 || status === 304;
  const trailed = !bare && request.httpVersionMinor >= 1 && announcesExitCode(headers);
  response.writeHead(status, { ...answerHeaders(headers), ...(trailed && { trailer: "X-Exit-Code" }) });
  // Whoever waits for the first line of a stream sees that it has begun.
  if (bare) response.end();
  else response.flushHeaders();
  if (trailed) body.once("end", () => response.addTrailers(fromDaemonTrailers(trailers)));
  return !bare;
}

// As stream.pipeline does, which costs an AbortError with its stack for every answer that goes well.
function pump(body: Readable, response: ServerResponse): Promise<void> {
  return new Promise((done) => {
    if (response.destroyed) return done();
    body.once("error", () => response.destroy());
    response.once("close", done);
    body.pipe(response);
  });
}

function bodyOf(request: IncomingMessage, maxBytes: number): Readable | undefined {
  const declared = request.headers["content-length"];
  if (declared === undefined && request.headers["transfer-encoding"] === undefined) return undefined;
  if (declared !== undefined && Number(declared) === 0) return undefined;
  const refusal = () => new AppError("body_too_large", { message: `The request body is larger than ${maxBytes} bytes` });
  if (declared !== undefined && Number(declared) > maxBytes) throw refusal();
  let bytes = 0;
  const counted = new Transform({
    transform(part: Buffer, _encoding, done) {
      bytes += part.length;
      done(bytes > maxBytes ? refusal() : null, part);
    },
  });
  request.once("error", (error) => counted.destroy(error));
  request.once("close", () => request.complete || counted.destroy(CALLER_LEFT));
  return request.pipe(counted);
}
