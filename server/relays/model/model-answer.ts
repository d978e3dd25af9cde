import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { ModelProvider } from "./provider/model-config.ts";
import { ModelRefusal } from "./admission/model-refusal.ts";
import { createUsageMeter, type UsageMeter } from "./usage/usage-meter.ts";

export interface AnswerOptions {
  provider: ModelProvider;
  // Resolves when the event loop may be held up for another slice.
  turn: () => Promise<void>;
}

// Passes the provider's answer on to the sandbox and reads along. Nothing the provider sends can do more than end this one
// answer. It does not end the response: the tokens are counted first.
export async function passAnswerOn(
  answer: IncomingMessage,
  response: ServerResponse,
  { provider, turn }: AnswerOptions,
  onMeter: (meter: UsageMeter) => void,
): Promise<void> {
  const { statusCode: status = 0, headers } = answer;
  if (status < 200 || status > 599)
    throw new ModelRefusal(502, "model_unreachable", "The model's provider answers with a status that does not exist");
  const contentType = headers["content-type"] ?? "application/json";
  const retryAfter = headers["retry-after"];
  // A provider that compresses unasked: the caller gets the header and decompresses within its own limits, never the server.
  const encoding = headers["content-encoding"];
  response.writeHead(status, {
    "Content-Type": contentType,
    "Cache-Control": "no-store",
    ...(retryAfter ? { "Retry-After": retryAfter } : {}),
    ...(encoding ? { "Content-Encoding": encoding } : {}),
  });
  const meter = createUsageMeter({ provider, contentType, encoded: encoding !== undefined && encoding !== "identity" });
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

// A model speaks in pieces far smaller than this, which need not wait.
const SMALL_CHUNK_BYTES = 8 * 1024;
