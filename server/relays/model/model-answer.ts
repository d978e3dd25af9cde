import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { ForwardableAnswer } from "@berth/contract/forwarding/forwarding.ts";
import { createUsageMeter, type ModelProvider, type UsageMeter } from "@berth/contract/model/usage-meter.ts";

export interface AnswerOptions {
  provider: ModelProvider;
  // Resolves when the caller may block the event loop for another slice.
  turn: () => Promise<void>;
}

// Streams the provider's answer to the sandbox and meters its tokens. Whatever the provider sends, it can at most end this one
// answer. Does not end the response, because the tokens are recorded first.
export async function streamAnswer(
  answer: ForwardableAnswer,
  response: ServerResponse,
  { provider, turn }: AnswerOptions,
  onMeter: (meter: UsageMeter) => void,
): Promise<void> {
  const { statusCode: status, headers } = answer;
  const contentType = headers["content-type"] ?? "application/json";
  const retryAfter = headers["retry-after"];
  // If the provider compresses although the request forbids it, the sandbox decompresses, within its own limits.
  const encoding = headers["content-encoding"];
  response.writeHead(status, {
    "Content-Type": contentType,
    "Cache-Control": "no-store",
    ...(retryAfter ? { "Retry-After": retryAfter } : {}),
    ...(encoding ? { "Content-Encoding": encoding } : {}),
  });
  const meter = createUsageMeter({ provider, contentType, isEncoded: encoding !== undefined && encoding !== "identity" });
  onMeter(meter);
  await pipeline(
    answer,
    async function* (source: AsyncIterable<Buffer>) {
      for await (const chunk of source) {
        if (chunk.length > SMALL_CHUNK_BYTES) await turn();
        meter.see(chunk);
        yield chunk;
      }
    },
    response,
    { end: false },
  );
}

// Streamed tokens arrive in far smaller chunks, which need not wait for a turn.
const SMALL_CHUNK_BYTES = 8 * 1024;
