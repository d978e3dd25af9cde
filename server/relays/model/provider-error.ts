import type { IncomingMessage, ServerResponse } from "node:http";
import type { ForwardableAnswer } from "@berth/contract/forwarding/forwarding.ts";
import { ModelRefusal } from "./admission/model-refusal.ts";

// Passes an error of the provider on with its status and Retry-After, so that agents know whether to try again. Its text never
// contains the key. Does not end the response.
export async function sendProviderError(answer: ForwardableAnswer, response: ServerResponse, apiKey: string): Promise<void> {
  const { statusCode: status, headers } = answer;
  // Only the operator can act, and the provider's text often quotes the key.
  if (status === 401 || status === 403)
    throw new ModelRefusal(status, "model_key_refused", "The model's provider rejected the server's API key. The operator must check it.");
  const retryAfter = headers["retry-after"];
  response.writeHead(status, {
    "Content-Type": headers["content-type"] ?? "application/json",
    "Cache-Control": "no-store",
    ...(retryAfter ? { "Retry-After": retryAfter } : {}),
  });
  response.flushHeaders();
  const text = headers["content-encoding"] === undefined ? await readText(answer) : null;
  response.write(text === null ? UNREADABLE : withoutKey(text, apiKey));
}

const MAX_ERROR_BYTES = 64 * 1024;
const UNREADABLE = JSON.stringify({ type: "error", error: { message: "The model's provider returned an error without a readable text" } });

// null: too long.
async function readText(answer: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_ERROR_BYTES) return null;
  }
  return Buffer.concat(chunks).toString();
}

// Providers quote the key as a whole, or its first and last characters with dots or asterisks between them.
export function withoutKey(text: string, apiKey: string): string {
  if (apiKey.length < MIN_SECRET_LENGTH) return text;
  const start = apiKey.slice(0, 3).replace(/[^\w-]/g, "\\$&");
  const masked = new RegExp(`${start}[\\w-]*(?:\\*|•|…|\\.{2,})[^\\s"'<]*`, "g");
  return text.replaceAll(apiKey, "[key]").replace(masked, "[key]");
}

// Servers without keys accept any word.
const MIN_SECRET_LENGTH = 8;
