import type { IncomingHttpHeaders } from "node:http";
import type { ScannedValue } from "../json/json-scanner.ts";
import type { ModelConfig, ModelProvider } from "../provider/model-config.ts";
import { ModelRefusal } from "../admission/model-refusal.ts";
import type { RequestBody } from "./request-body.ts";
import type { ModelApi } from "./request-fields.ts";
import type { RequestPart, RequestPolicy } from "./request-rules.ts";

// What a sandbox may ask of the provider, and how its request is made ours: another key, the configured model, and a
// request for usage. Everything else the key could do (files, fine-tuning, administration) is not passed on.
const APIS: Record<ModelProvider, Record<string, ModelApi>> = {
  openai: {
    "/v1/chat/completions": "chat",
    "/v1/completions": "completions",
    "/v1/responses": "responses",
    "/v1/embeddings": "embeddings",
  },
  anthropic: { "/v1/messages": "messages", "/v1/messages/count_tokens": "messages" },
};
const MODELS = /^\/v1\/models(\/[\w.:-]+)?$/;

const PASSED_ON = ["accept", "anthropic-version", "anthropic-beta", "openai-beta"];

export interface ProviderTarget {
  method: "GET" | "POST";
  // Below the provider's base URL, which includes the version for openai.
  path: string;
  // What the body must be; null: there is none.
  api: ModelApi | null;
  // Lists of models and counts of tokens are free.
  costsTokens: boolean;
}

// What `/model/{provider}{rest}` is at the provider, or null when it is nothing that is passed on.
export function providerTarget(provider: ModelProvider, method: string, url: string): ProviderTarget | null {
  const prefix = `/model/${provider}`;
  if (!url.startsWith(`${prefix}/`)) return null;
  const [asked = ""] = url.slice(prefix.length).split("?");
  const path = provider === "openai" ? asked.replace(/^\/v1/, "") : asked;
  if (method === "GET" && MODELS.test(asked)) return { method, path, api: null, costsTokens: false };
  const apis = APIS[provider];
  if (method !== "POST" || !Object.hasOwn(apis, asked)) return null;
  return { method, path, api: apis[asked]!, costsTokens: !asked.endsWith("/count_tokens") };
}

// The token comes where the provider's own libraries put the key.
export function presentedToken({ authorization, "x-api-key": key }: IncomingHttpHeaders): string {
  if (typeof key === "string") return key;
  return /^Bearer (\S+)$/i.exec(authorization ?? "")?.[1] ?? "";
}

export function providerHeaders({ provider, apiKey }: ModelConfig, headers: IncomingHttpHeaders): Record<string, string> {
  const passed = PASSED_ON.flatMap((name) => (typeof headers[name] === "string" ? [[name, headers[name]] as const] : []));
  // Unpacked answers, because we read along. The caller must not choose how the provider reads the body that was checked.
  const own = { "accept-encoding": "identity", "content-type": "application/json", "user-agent": "berth" };
  const key: Record<string, string> = provider === "openai" ? { authorization: `Bearer ${apiKey}` } : { "x-api-key": apiKey };
  const version: Record<string, string> =
    provider === "anthropic" && !headers["anthropic-version"] ? { "anthropic-version": "2023-06-01" } : {};
  return { ...Object.fromEntries(passed), ...own, ...version, ...key };
}

// The bytes of the caller with our values in them: the configured model, a request for the usage of a stream, and
// that the provider keeps nothing, which is not the default of the responses interface.
export function providerBody(
  { name }: Pick<ModelConfig, "name">,
  { serverTools }: Pick<RequestPolicy, "serverTools">,
  api: ModelApi,
  { bytes, parts }: RequestBody,
): Buffer[] {
  const changes = new Map<RequestPart, string>();
  if (name !== null) changes.set("model", JSON.stringify(name));
  if ((api === "chat" || api === "completions") && parts.get("stream")?.kind === "true")
    changes.set("stream_options", withUsage(bytes, parts.get("stream_options")));
  if (api === "responses" && !serverTools) changes.set("store", "false");
  return replaceFields(bytes, parts, changes);
}

const MAX_STREAM_OPTIONS_BYTES = 4096;

function withUsage(bytes: Buffer, options: ScannedValue | undefined): string {
  if (!options) return '{"include_usage":true}';
  const { start, end } = options;
  if (end - start > MAX_STREAM_OPTIONS_BYTES) throw new ModelRefusal(400, "bad_request", "stream_options is too large");
  return JSON.stringify({ ...(JSON.parse(bytes.toString("utf8", start, end)) as object | null), include_usage: true });
}

// Puts new values in the place of old ones, and those of fields that are not there at the end of the object.
function replaceFields(bytes: Buffer, parts: RequestBody["parts"], changes: Map<RequestPart, string>): Buffer[] {
  const root = parts.get("root")!;
  const present = [...changes].filter(([field]) => parts.has(field)).map(([field, value]) => ({ ...parts.get(field)!, value }));
  present.sort((a, b) => a.start - b.start);
  const missing = [...changes].filter(([field]) => !parts.has(field)).map(([field, value]) => `${JSON.stringify(field)}:${value}`);
  const pieces: Buffer[] = [];
  let at = root.start;
  for (const { start, end, value } of present) {
    pieces.push(bytes.subarray(at, start), Buffer.from(value));
    at = end;
  }
  const added = missing.join(",");
  const comma = added !== "" && !root.empty ? "," : "";
  pieces.push(bytes.subarray(at, root.end - 1), Buffer.from(`${comma}${added}}`));
  return pieces;
}
