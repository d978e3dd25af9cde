import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { ModelConfig, ModelProvider } from "./model-config.ts";

// What a sandbox may ask of the provider, and how its request is made ours: another key, the configured model, and the
// wish to be told the tokens. Everything else the key could do (files, fine-tuning, administration) is not passed on.
const ALLOWED: Record<ModelProvider, { method: string; path: RegExp }[]> = {
  openai: [
    { method: "POST", path: /^\/v1(\/(?:chat\/completions|completions|responses|embeddings))$/ },
    { method: "GET", path: /^\/v1(\/models(?:\/[\w.:-]+)?)$/ },
  ],
  anthropic: [
    { method: "POST", path: /^(\/v1\/messages(?:\/count_tokens)?)$/ },
    { method: "GET", path: /^(\/v1\/models(?:\/[\w.:-]+)?)$/ },
  ],
};

const PASSED_ON = ["content-type", "accept", "anthropic-version", "anthropic-beta", "openai-beta"];

// The path at the provider for `/model/{provider}{rest}`, or null when it is none of those allowed.
export function providerPath(provider: ModelProvider, method: string, url: string): string | null {
  const prefix = `/model/${provider}`;
  if (!url.startsWith(`${prefix}/`)) return null;
  const [path = ""] = url.slice(prefix.length).split("?");
  for (const allowed of ALLOWED[provider]) {
    const match = allowed.method === method ? allowed.path.exec(path) : null;
    if (match) return match[1] ?? null;
  }
  return null;
}

// The token comes where the provider's own libraries put the key.
export function presentedToken({ authorization, "x-api-key": key }: IncomingHttpHeaders): string {
  if (typeof key === "string") return key;
  return /^Bearer (\S+)$/i.exec(authorization ?? "")?.[1] ?? "";
}

export function providerHeaders({ provider, apiKey }: ModelConfig, headers: IncomingHttpHeaders): Record<string, string> {
  const passed = PASSED_ON.flatMap((name) => (typeof headers[name] === "string" ? [[name, headers[name]] as const] : []));
  // Unpacked answers, because we read along.
  const own = { "accept-encoding": "identity", "user-agent": "berth" };
  const key: Record<string, string> = provider === "openai" ? { authorization: `Bearer ${apiKey}` } : { "x-api-key": apiKey };
  const version: Record<string, string> =
    provider === "anthropic" && !headers["anthropic-version"] ? { "anthropic-version": "2023-06-01" } : {};
  return { ...Object.fromEntries(passed), ...own, ...version, ...key };
}

export function providerBody({ provider, name }: ModelConfig, path: string, body: Buffer): Buffer | null {
  let asked: Record<string, unknown>;
  try {
    asked = JSON.parse(body.toString()) as Record<string, unknown>;
  } catch {
    return null;
  }
  if (typeof asked !== "object" || asked === null || Array.isArray(asked)) return null;
  const countTokens = provider === "openai" && path.endsWith("completions") && asked.stream === true;
  return Buffer.from(
    JSON.stringify({
      ...asked,
      ...(name === null ? {} : { model: name }),
      ...(countTokens ? { stream_options: { ...(asked.stream_options as object | undefined), include_usage: true } } : {}),
    }),
  );
}

export class BodyTooLargeError extends Error {}

export async function readBody(request: IncomingMessage, maxBytes: number, take: (bytes: number) => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new BodyTooLargeError();
    take(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
