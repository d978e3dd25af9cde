import type { IncomingHttpHeaders } from "node:http";
import type { ScannedValue } from "@berth/contract/model/json/json-value.ts";
import type { ModelProvider } from "@berth/contract/model/usage-meter.ts";
import type { ModelConfig } from "../provider/model-config.ts";
import { ModelRefusal } from "../admission/model-refusal.ts";
import type { RequestBody } from "./request-body.ts";
import type { ModelApi } from "./request-fields.ts";
import type { RequestPart, RequestPolicy } from "./request-rules.ts";

// The parts of the providers' APIs that sandboxes may use. Everything else that the key permits (files, fine-tuning,
// administration) is not relayed.
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

const RELAYED_HEADERS = ["accept", "anthropic-version", "anthropic-beta", "openai-beta"];

export interface ProviderTarget {
  method: "GET" | "POST";
  // Relative to the provider's base URL, which includes the version for openai.
  path: string;
  // The API that the body must conform to. null: there is no body.
  api: ModelApi | null;
  // Listing models and counting tokens are free.
  costsTokens: boolean;
}

// Maps `/model/{provider}{path}` to a target at the provider. null: it is not relayed.
export function providerTarget(provider: ModelProvider, method: string, url: string): ProviderTarget | null {
  const prefix = `/model/${provider}`;
  if (!url.startsWith(`${prefix}/`)) return null;
  const [apiPath = ""] = url.slice(prefix.length).split("?");
  const path = provider === "openai" ? apiPath.replace(/^\/v1/, "") : apiPath;
  if (method === "GET" && MODELS.test(apiPath)) return { method, path, api: null, costsTokens: false };
  const apis = APIS[provider];
  if (method !== "POST" || !Object.hasOwn(apis, apiPath)) return null;
  return { method, path, api: apis[apiPath]!, costsTokens: !apiPath.endsWith("/count_tokens") };
}

// The client libraries of the providers put the token where the key belongs.
export function presentedToken({ authorization, "x-api-key": key }: IncomingHttpHeaders): string {
  if (typeof key === "string") return key;
  return /^Bearer (\S+)$/i.exec(authorization ?? "")?.[1] ?? "";
}

export function providerHeaders({ provider, apiKey }: ModelConfig, headers: IncomingHttpHeaders): Record<string, string> {
  const relayed = RELAYED_HEADERS.flatMap((name) => (typeof headers[name] === "string" ? [[name, headers[name]] as const] : []));
  // No compression, because the relay reads the answer. The content type is fixed, so that the provider parses the body in the
  // way that was checked.
  const own = { "accept-encoding": "identity", "content-type": "application/json", "user-agent": "berth" };
  const key: Record<string, string> = provider === "openai" ? { authorization: `Bearer ${apiKey}` } : { "x-api-key": apiKey };
  const version: Record<string, string> =
    provider === "anthropic" && !headers["anthropic-version"] ? { "anthropic-version": "2023-06-01" } : {};
  return { ...Object.fromEntries(relayed), ...own, ...version, ...key };
}

// Replaces some values in the caller's body: sets the configured model, requests usage at the end of a stream, lowers the limits of
// tokens to these `limits`, and forbids the provider to store anything, which the responses API does by default.
export function providerBody(
  { name }: Pick<ModelConfig, "name">,
  { serverTools }: Pick<RequestPolicy, "serverTools">,
  api: ModelApi,
  { bytes, parts }: RequestBody,
  limits: ReadonlyMap<RequestPart, string> = new Map(),
): Buffer[] {
  const changes = new Map<RequestPart, string>(limits);
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

// Replaces the values of fields, and appends missing fields at the end of the object.
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
