import type { Template } from "@berth/contract";
import type { ScannedValue } from "@berth/contract/model/json/json-value.ts";
import type { Shape } from "@berth/contract/model/json/json-shape.ts";
import type { ModelProvider } from "@berth/contract/model/usage-meter.ts";
import { isProvidersOwn, type ModelConfig } from "../provider/model-config.ts";
import { inertFields, type ModelApi } from "./request-fields.ts";

// Limits the contents of a request to a model. Providers offer features that reach further than a sandbox may: tools that the provider
// runs (web search, code, MCP servers), URLs that it fetches, and state that it keeps beyond the request. They would bypass the
// egress policy, so they are refused unless the template allows them. If the template restricts egress, unknown fields are
// refused too.

export interface RequestPolicy {
  // Tools that the provider runs, and state that it keeps.
  serverTools: boolean;
  // Images and files that the provider fetches from a URL.
  remoteUrls: boolean;
  // Fields that Berth does not know, whose effect is therefore unknown.
  unknownFields: boolean;
}

export function requestPolicyOf({ egress, model: own }: Pick<Template, "egress" | "model">, model: ModelConfig): RequestPolicy {
  const serverTools = own?.serverTools === true;
  const isPublic = egress.policy === "public";
  return {
    serverTools,
    // A model server of the operator may reach private addresses that the sandbox must not reach.
    remoteUrls: serverTools || (isPublic && isProvidersOwn(model)),
    unknownFields: serverTools || isPublic,
  };
}

export interface RequestRule {
  // A part that the relay itself reads or replaces.
  part?: RequestPart;
  allows?: (value: ScannedValue) => boolean;
  // The permission that lifts the rule. Without it, the rule always applies.
  unless?: keyof RequestPolicy;
  // The message for the caller. `{field}` is replaced by the path of the field.
  refusal?: string;
  // Whether the value is an encoded image, which costs far fewer tokens than text of the same length.
  isImage?: (value: ScannedValue) => boolean;
}

export type RequestPart =
  | "root"
  | "model"
  | "stream"
  | "stream_options"
  | "store"
  // The most tokens of an answer, and how many answers.
  | "max_tokens"
  | "max_completion_tokens"
  | "max_output_tokens"
  | "n"
  | "best_of";
export type RequestShape = Shape<RequestRule>;

const SERVER_TOOL = "{field} requests a tool that the model's provider runs. This template allows only tools that run in the sandbox.";
const SERVER_STATE = "{field} refers to state that the model's provider keeps. This template allows only self-contained requests.";
const REMOTE_URL = "{field} is a URL that the model's provider would fetch. With this template, send the content itself as a data: URL.";

export function describeRefusal({ refusal = "{field} is not allowed" }: RequestRule, { kind, text, path }: ScannedValue): string {
  const shown = kind === "string" && /^[\w.:/-]{1,60}$/.test(text) ? `${path()} ("${text}")` : path();
  return refusal.replace("{field}", () => shown);
}

const isFalse = ({ kind }: ScannedValue) => kind === "null" || kind === "false";
const isBoolean = (value: ScannedValue) => value.kind === "true" || isFalse(value);
const isNothing = (value: ScannedValue) => isFalse(value) || value.kind === "array";
const isList = ({ kind }: ScannedValue) => kind === "array" || kind === "null";
const never = () => false;

// Absent, null, false or an empty list.
function absent(refusal: string): RequestShape {
  return {
    mark: { allows: isNothing, unless: "serverTools", refusal },
    items: { mark: { allows: never, unless: "serverTools", refusal } },
  };
}

// Tools that programs in the sandbox run. Tools that a provider adds later are refused until they are listed here.
const CLIENT_TOOLS: Record<ModelProvider, RegExp> = {
  // tool_search searches only the tools of the request itself; namespace is a group of tools.
  openai: /^(function|custom|local_shell|apply_patch|namespace|tool_search)$/,
  anthropic: /^(custom|(bash|text_editor|computer|memory)_\d{8}|tool_search_tool_(regex|bm25)(_\d{8})?)$/,
};

function toolsOf(provider: ModelProvider): RequestShape {
  const isClientTool = ({ kind, text }: ScannedValue) => kind === "null" || (kind === "string" && CLIENT_TOOLS[provider].test(text));
  const tools: RequestShape = { mark: { allows: isList, unless: "serverTools", refusal: SERVER_TOOL } };
  const type: RequestShape = { mark: { allows: isClientTool, unless: "serverTools", refusal: SERVER_TOOL } };
  tools.items = {
    fields: new Map([
      ["type", type],
      ["tools", tools],
    ]),
  };
  return tools;
}

const URL_FIELDS = ["url", "uri", "image_url", "file_url", "video_url", "audio_url", "document_url", "file_uri"];
const isData = ({ kind, text }: ScannedValue) => kind !== "string" || text.startsWith("data:");
// Base64 has no colon.
const isEncoded = (value: ScannedValue) => isData(value) || !value.text.includes(":");

// Messages and their parts, at any depth. The arguments of a tool call are not interpreted by the provider, so they are not
// checked.
function contentOf(provider: ModelProvider): RequestShape {
  const content: RequestShape = {};
  const url: RequestShape = {
    mark: { allows: isData, unless: "remoteUrls", refusal: REMOTE_URL, isImage: ({ text }) => text.startsWith("data:image/") },
  };
  const type: RequestShape = {
    mark: { allows: ({ text }) => text !== "item_reference" && !text.includes("\\"), unless: "serverTools", refusal: SERVER_STATE },
  };
  const fields = new Map<string, RequestShape>([
    ...URL_FIELDS.map((field) => [field, url] as const),
    ["file_data", { mark: { allows: isEncoded, unless: "remoteUrls", refusal: REMOTE_URL } }],
    ["file_id", absent(SERVER_STATE)],
    ["type", type],
    ["tools", toolsOf(provider)],
    // Images of Anthropic and audio of OpenAI.
    ["data", { mark: { isImage: ({ kind }) => kind === "string" } }],
    ["arguments", {}],
    ["env", {}],
    ...(provider === "anthropic" ? ([["input", {}]] as const) : []),
  ]);
  for (const shape of [content, url]) Object.assign(shape, { fields, otherFields: content, items: content });
  return content;
}

const part = (name: RequestPart, allows?: RequestRule["allows"], refusal?: string): RequestShape => ({
  mark: { part: name, ...(allows && { allows }), ...(refusal !== undefined && { refusal }) },
});

const OPENAI_CONTENT = contentOf("openai");
const ANTHROPIC_CONTENT = contentOf("anthropic");
const MODEL = part("model", ({ kind }) => kind === "string", "{field} must be a string");
const STREAM = part("stream", isBoolean, "{field} must be true or false");
const STORE: RequestShape = { mark: { part: "store", allows: isFalse, unless: "serverTools", refusal: SERVER_STATE } };

// A background request is answered before it costs tokens, and the relay does not offer its result.
const BACKGROUND: RequestShape = {
  mark: { allows: isFalse, refusal: "{field} requests background processing, which is not relayed because its tokens cannot be counted" },
};

// Search, code, plugins and connectors of providers that offer one of the two APIs.
const SERVER_TOOL_FIELDS = `mcp_servers container web_search_options web_search enable_search search_options search_parameters
  plugins connectors`;
const EVERYWHERE: [string, RequestShape][] = [
  ["model", MODEL],
  ["models", absent("{field} is not relayed. Name the model in `model`.")],
  ["stream", STREAM],
  ["background", BACKGROUND],
  ...SERVER_TOOL_FIELDS.split(/\s+/).map((field): [string, RequestShape] => [field, absent(SERVER_TOOL)]),
];

const isCount = ({ kind }: ScannedValue) => kind === "number" || kind === "null";
const COUNT_PARTS = ["max_tokens", "max_completion_tokens", "max_output_tokens", "n", "best_of"] as const;
const COUNTS = new Map<string, RequestShape>(COUNT_PARTS.map((name) => [name, part(name, isCount, "{field} must be a number")]));

const UNKNOWN: RequestShape = {
  mark: {
    allows: never,
    unless: "unknownFields",
    refusal: "{field} is not relayed, because this template restricts where the sandbox may connect",
  },
};

function request(api: ModelApi, fields: [string, RequestShape][]): RequestShape {
  const inert = inertFields(api).map((field): [string, RequestShape] => [field, COUNTS.get(field) ?? {}]);
  return {
    mark: { part: "root", allows: ({ kind }) => kind === "object", refusal: "The request to the model is not a JSON object" },
    fields: new Map([...inert, ...EVERYWHERE, ...fields]),
    otherFields: UNKNOWN,
  };
}

const STREAM_OPTIONS = part("stream_options", ({ kind }) => kind === "object" || kind === "null", "{field} must be an object");

export const REQUEST_SHAPES: Record<ModelApi, RequestShape> = {
  chat: request("chat", [
    ["messages", OPENAI_CONTENT],
    ["tools", toolsOf("openai")],
    ["stream_options", STREAM_OPTIONS],
    ["store", STORE],
  ]),
  completions: request("completions", [["stream_options", STREAM_OPTIONS]]),
  responses: request("responses", [
    ["input", OPENAI_CONTENT],
    ["tools", toolsOf("openai")],
    ["store", STORE],
    ["previous_response_id", absent(SERVER_STATE)],
    ["conversation", absent(SERVER_STATE)],
    ["prompt", absent(SERVER_STATE)],
  ]),
  embeddings: request("embeddings", []),
  messages: request("messages", [
    ["messages", ANTHROPIC_CONTENT],
    ["system", ANTHROPIC_CONTENT],
    ["tools", toolsOf("anthropic")],
  ]),
};
