import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { markWork } from "../../../event-loop/loop-work.ts";
import { createJsonScanner } from "@berth/contract/model/json/json-scanner.ts";
import { JsonFault, type ScannedValue } from "@berth/contract/model/json/json-value.ts";
import type { BodySlot } from "../admission/model-limits.ts";
import { ModelRefusal } from "../admission/model-refusal.ts";
import { describeRefusal, type RequestPart, type RequestPolicy, type RequestRule, type RequestShape } from "./request-rules.ts";

// The body of a request to a model. It is checked while it arrives, in slices that do not block the event loop for long. The
// checked bytes are what is sent, except for the few values that the relay replaces.
export interface RequestBody {
  bytes: Buffer;
  parts: ReadonlyMap<RequestPart, ScannedValue>;
  // An estimate of the tokens that the provider will count.
  promptTokens: number;
}

export interface ReadOptions {
  shape: RequestShape;
  policy: RequestPolicy;
  slot: BodySlot;
  maxBytes: number;
  timeoutMs: number;
  // Resolves when the caller may block the event loop for another slice.
  turn: () => Promise<void>;
}

const BYTES_PER_TOKEN = 4;
const IMAGE_BYTES_PER_TOKEN = 256;
const SLICE_BYTES = 64 * 1024;
const SCAN = { name: "model request scan" };

export async function readRequestBody(request: IncomingMessage, options: ReadOptions): Promise<RequestBody> {
  const { slot, maxBytes, timeoutMs } = options;
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const check = createCheck(options);
  const chunks: Buffer[] = [];
  let size = 0;
  // After a fault the rest is read and dropped: a caller that is still sending would not see the answer otherwise.
  let fault: unknown;
  await eachChunk(request, timeoutMs, async (chunk) => {
    size += chunk.length;
    slot.add(chunk.length);
    if (size > maxBytes) throw tooLarge(maxBytes);
    if (fault !== undefined) return slot.release();
    try {
      await check.write(chunk);
      chunks.push(chunk);
    } catch (error) {
      fault = error;
      chunks.length = 0;
      slot.release();
    }
  });
  if (fault !== undefined) throw fault;
  return check.end(Buffer.concat(chunks));
}

function createCheck({ shape, policy, turn }: ReadOptions) {
  const parts = new Map<RequestPart, ScannedValue>();
  let imageBytes = 0;
  const scanner = createJsonScanner<RequestRule>(shape, (rule, value) => {
    if (rule.isImage?.(value)) imageBytes += value.end - value.start;
    if (rule.part) parts.set(rule.part, value);
    const allowed = !rule.allows || (rule.unless !== undefined && policy[rule.unless]) || rule.allows(value);
    if (!allowed) throw badRequest(describeRefusal(rule, value));
  });
  return {
    async write(chunk: Buffer) {
      for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
        await turn();
        markWork(SCAN);
        orBadRequest(() => scanner.write(chunk.subarray(at, at + SLICE_BYTES)));
      }
    },
    end(bytes: Buffer): RequestBody {
      orBadRequest(() => scanner.end());
      // Parsers replace invalid UTF-8 in different ways.
      if (!isUtf8(bytes)) throw badRequest("The request to the model is not UTF-8");
      const promptTokens = Math.ceil((bytes.length - imageBytes) / BYTES_PER_TOKEN + imageBytes / IMAGE_BYTES_PER_TOKEN);
      return { bytes, parts, promptTokens };
    },
  };
}

function orBadRequest(scan: () => void): void {
  try {
    scan();
  } catch (error) {
    throw error instanceof JsonFault ? badRequest(`The JSON of the request to the model is invalid: ${error.message}`) : error;
  }
}

const badRequest = (message: string) => new ModelRefusal(400, "bad_request", message);
const tooLarge = (maxBytes: number) =>
  new ModelRefusal(413, "too_large", `The request to the model is larger than ${maxBytes / 1024 / 1024} MiB`);

// Calls `take` for each chunk until the request ends. Does not destroy the request on failure, because it must still be
// answered.
function eachChunk(request: IncomingMessage, timeoutMs: number, take: (chunk: Buffer) => Promise<void>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(
    () => reject(new ModelRefusal(408, "request_timeout", `The request to the model did not arrive within ${timeoutMs / 1000} s`)),
    timeoutMs,
  );
  let taken = Promise.resolve();
  const onData = (chunk: Buffer) => {
    request.pause();
    taken = take(chunk).then(() => void request.resume(), reject);
  };
  // Both events occur while the last chunk is still being processed.
  const onEnd = () => void taken.then(resolve);
  const onClose = () => request.readableEnded || reject(new Error("The caller disconnected before its request was complete"));
  request.on("data", onData).on("end", onEnd).on("error", reject).on("close", onClose);
  return promise.finally(() => {
    clearTimeout(timer);
    request.off("data", onData).off("end", onEnd).off("close", onClose);
    request.off("error", reject).on("error", () => {});
  });
}
