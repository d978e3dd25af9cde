import type { TSchema } from "typebox";
import { ERRORS, type ErrorCode } from "../errors.ts";
import { EXAMPLES } from "../routes/examples.ts";
import type { Route } from "../routes/route.ts";
import { commonErrors, ROUTES, SANDBOX_ERRORS } from "../routes/routes.ts";
import { SANDBOX_ROUTES } from "../routes/sandbox/sandbox-routes.ts";
import { SandboxError } from "../schemas/sandbox/sandbox.ts";
import { CreateSession, ErrorBody } from "../schemas/session/session.ts";

// Derives the OpenAPI 3.1 description from the routes, the schemas and the table of errors.

export const API_TITLE = "Partner Session API";
export const API_VERSION = "1.0.0";

type Json = Record<string, unknown>;

export interface OpenApi {
  openapi: string;
  info: Json;
  servers: { url: string }[];
  security: Json[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Json>;
    responses: Record<string, OpenApiResponse>;
    parameters: Json;
    headers: Json;
    securitySchemes: Json;
  };
}

export interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security?: [];
  parameters?: Json[];
  requestBody?: { required: boolean; content: Record<string, { schema: Json; examples?: Json }> };
  responses: Record<string, OpenApiResponse | { $ref: string }>;
}

export interface OpenApiResponse {
  description: string;
  headers?: Json;
  content?: Record<string, { schema: Json; examples?: Json }>;
}

export interface DescribedService {
  // Has no trailing slash.
  baseUrl: string;
  // The names of the configured templates. Without them, the description is that of the API and not of one server.
  templates?: Iterable<string>;
}

export function describeApi({ baseUrl, templates }: DescribedService): OpenApi {
  const routes: Record<string, Route> = { ...ROUTES, ...SANDBOX_ROUTES };
  const schemas: Record<string, Json> = {};
  const convert = schemaConverter(schemas);
  const responses: Record<string, OpenApiResponse> = {};
  const paths: OpenApi["paths"] = {};
  for (const [name, route] of Object.entries(routes)) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = describeRoute(name, route, convert, responses);
  }
  if (templates) listTemplates(schemas, [...templates]);
  return {
    openapi: "3.1.0",
    info: {
      title: API_TITLE,
      version: API_VERSION,
      description: INTRODUCTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      contact: { name: "The operator of this service", url: baseUrl },
    },
    servers: [{ url: serverUrl(baseUrl) }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: TAGS,
    paths,
    components: { schemas, responses, parameters: PARAMETERS, headers: HEADERS, securitySchemes: SECURITY },
  };
}

// A localhost URL is useless to other readers. A relative one resolves to the server that the description came from.
const serverUrl = (baseUrl: string): string => (new URL(baseUrl).hostname === "localhost" ? "/" : baseUrl);

const INTRODUCTION = `Create, read, pause, resume and destroy coding sessions for your users, and issue signed URLs that open them in a browser.

Request and response bodies are JSON. An error response has an HTTP status, a body \`{error, details?}\` for people, and a stable code for programs in the header \`X-Error-Code\`. The API ignores unknown fields in requests; clients should ignore unknown fields in responses.`;

// The description of a server names the templates that it accepts, so that generated clients and readers know them.
function listTemplates(schemas: Record<string, Json>, names: string[]): void {
  const { template } = (schemas[idOf(CreateSession)!] as { properties: Record<string, Json> }).properties;
  Object.assign(template!, { enum: names });
}

const TAGS = [
  { name: "Sessions", description: "A session is one user's workspace, backed by a sandbox." },
  { name: "Session tokens", description: "Tokens and URLs that open one session, or a part of it, without your key." },
  { name: "Runs", description: "A run is the work of a session's agent on a prompt. It goes on without its caller." },
  { name: "Snapshots", description: "Copies of the files of sessions, from which new sessions start." },
  { name: "Events", description: "The events of your sessions, in order." },
  { name: "Webhooks", description: "Webhooks send events to your backend, signed according to the Standard Webhooks specification." },
  { name: "Keys", description: "Your API keys. The scope of a key limits which calls it may make." },
  { name: "Usage", description: "What your sessions used, and what it costs at the operator's prices." },
  { name: "Volumes", description: "Named disks that outlive sessions, for caches and datasets." },
  { name: "Description", description: "The description of this API." },
  {
    name: "Commands",
    description:
      "The API of a sandbox, below the `sandboxUrl` of its session and with the same key, begins here. It answers while the session is running. Paths of files are relative to the workspace folder.",
  },
  { name: "Processes", description: "Programs in a sandbox that go on without their caller." },
  { name: "Files", description: "The files of a sandbox." },
  {
    name: "Terminals",
    description:
      'Terminals outlive the connections to them. A WebSocket to `/sandboxes/{sandboxId}/terminals/{terminalId}?offset=N` attaches to one: the first message is text, `attached`; output comes as binary messages, and you send input as binary messages. `{"type":"resize","cols":80,"rows":24}` changes the size, and `exit` is the last message. After a reconnect, pass the number of bytes that you have received as `offset`.',
  },
  {
    name: "Ports",
    description:
      "Web servers in a sandbox open as previews on an origin of their own. The workspace issues the links to them; your backend gets one with `POST /api/b2b/sessions/{id}/preview-url`, and a program with a session token needs none.",
  },
  { name: "Changes", description: "What has changed in the files of a sandbox." },
  { name: "Git", description: "The source control of a sandbox, as the workspace uses it. It runs the sandbox's own git." },
  {
    name: "Agent",
    description:
      "The coding agent in a sandbox. A WebSocket to `/sandboxes/{sandboxId}/agent/stream` carries all conversations in both directions, as the workspace uses it.",
  },
] as const satisfies { name: Route["tag"]; description: string }[];

const SECURITY = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "`Authorization: Bearer berth_…`, an API key. Below `sandboxUrl`, and for runs, also a session token, `berth_st_…`.",
  },
  apiKey: { type: "apiKey", in: "header", name: "X-API-Key", description: "The same key in a separate header." },
};

const pathParameter = (name: string, description: string) => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string" },
});

const PARAMETERS = {
  sandboxId: pathParameter("sandboxId", "The `sandboxId` of the session."),
  processId: pathParameter("processId", "The identifier of the process."),
  programId: pathParameter("programId", "The identifier of the program."),
  watcherId: pathParameter("watcherId", "The identifier of the watcher."),
  terminalId: pathParameter("terminalId", "The identifier of the terminal."),
  conversationId: pathParameter("conversationId", "The identifier of the conversation."),
  imageId: pathParameter("imageId", "The identifier of the image."),
  runId: pathParameter("runId", "The identifier of the run."),
  tokenId: pathParameter("tokenId", "The identifier of the token."),
  id: pathParameter("id", "The identifier from an earlier response."),
  deliveryId: pathParameter("deliveryId", "The identifier of the delivery."),
  idempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "A string that is unique per operation. If you repeat a request with the same key and body within 24 hours, it is not executed again: you get the first response, with `Idempotent-Replayed: true`.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
  },
};

const HEADERS = {
  RequestId: { description: "The identifier of this request in the service's logs.", schema: { type: "string" } },
  ErrorCode: { description: "The error code; the examples list the possible ones.", schema: { type: "string" } },
  RetryAfter: { description: "The number of seconds to wait before a retry.", schema: { type: "integer" } },
  ETag: { description: "Changes whenever the session changes.", schema: { type: "string" } },
  IdempotentReplayed: {
    description: "`true` if this is the response to an earlier request with the same Idempotency-Key.",
    schema: { type: "string" },
  },
  WwwAuthenticate: { description: "Always `Bearer`.", schema: { type: "string" } },
};

const header = (name: keyof typeof HEADERS): Json => ({ $ref: `#/components/headers/${name}` });

function describeRoute(name: string, route: Route, convert: (schema: TSchema) => Json, shared: Record<string, OpenApiResponse>): Operation {
  const parameters: Json[] = [
    ...[...route.path.matchAll(/\{(\w+)\}/g)].map(([, id]) => ({ $ref: `#/components/parameters/${id}` })),
    ...(route.idempotent ? [{ $ref: "#/components/parameters/idempotencyKey" }] : []),
    ...(route.query ?? []).map((parameter) => ({ ...parameter, schema: convert(parameter.schema) })),
  ];
  return {
    operationId: name,
    summary: route.summary,
    description: route.description,
    tags: [route.tag],
    ...(route.public && { security: [] as [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: { required: route.body.required, content: json(convert(route.body.schema), exampleOf(route.body.schema)) },
    }),
    ...(route.upload && { requestBody: { required: true, content: { [route.upload]: { schema: BINARY } } } }),
    responses: {
      [route.success.status]: describeSuccess(route, convert),
      ...Object.fromEntries((route.success.also ?? []).map((also) => [also.status, describeSuccess({ ...route, success: also }, convert)])),
      ...(route.success.etag === true && { 304: { description: "It has not changed.", headers: { ETag: header("ETag") } } }),
      ...describeErrors(route, convert, shared),
    },
  };
}

function describeSuccess({ success, idempotent }: Route, convert: (schema: TSchema) => Json): OpenApiResponse {
  const content = {
    ...(success.schema && json(convert(success.schema), success.example ?? exampleOf(success.schema))),
    ...(success.lines && {
      [success.lines.media]: { schema: convert(success.lines.schema), ...examples(exampleOf(success.lines.schema)) },
    }),
    ...Object.fromEntries(
      (success.media ?? []).map((media) => [
        media,
        { schema: media.startsWith("application/") && !media.endsWith("yaml") ? BINARY : { type: "string" } },
      ]),
    ),
  };
  const headers = {
    "X-Request-Id": header("RequestId"),
    ...(success.etag && { ETag: header("ETag") }),
    ...(idempotent && { "Idempotent-Replayed": header("IdempotentReplayed") }),
  };
  return { description: success.description, headers, ...(Object.keys(content).length > 0 && { content }) };
}

const BINARY = { type: "string", format: "binary" };

// Most routes share most of their errors, so each group of codes is described once and referenced.
function describeErrors(route: Route, convert: (schema: TSchema) => Json, shared: Record<string, OpenApiResponse>): Operation["responses"] {
  const isSandbox = route.path.startsWith("/sandboxes/");
  const codes = [...new Set([...route.errors, ...(isSandbox ? SANDBOX_ERRORS : commonErrors(route))])];
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].status);
  const sorted = [...byStatus].sort(([a], [b]) => a - b);
  return Object.fromEntries(
    sorted.map(([status, group]) => {
      const name = `${isSandbox ? "Sandbox" : ""}${group.map(toCamelCase).join("Or")}`;
      shared[name] ??= describeError(status, group, convert(isSandbox ? SandboxError : ErrorBody));
      return [String(status), { $ref: `#/components/responses/${name}` }];
    }),
  );
}

function describeError(status: number, codes: ErrorCode[], schema: Json): OpenApiResponse {
  const headers: Json = { "X-Request-Id": header("RequestId"), "X-Error-Code": header("ErrorCode") };
  if (status === 401) headers["WWW-Authenticate"] = header("WwwAuthenticate");
  if (codes.some((code) => ERRORS[code].retryable) && (status < 500 || status === 503 || status === 504))
    headers["Retry-After"] = header("RetryAfter");
  const examples = Object.fromEntries(codes.map((code) => [code, { value: errorExample(code) }]));
  const description = codes.map((code) => `${ERRORS[code].message}.`).join(" ");
  return { description, headers, content: { "application/json": { schema, examples } } };
}

const toCamelCase = (code: string): string => code.replaceAll(/(?:^|_)(\w)/g, (_all, letter: string) => letter.toUpperCase());

function errorExample(code: ErrorCode): Json {
  const { message: error } = ERRORS[code];
  return code === "validation_failed" ? { error, details: [{ field: "externalUserId", message: "Required" }] } : { error };
}

const json = (schema: Json, example?: unknown) => ({ "application/json": { schema, ...examples(example) } });
const examples = (example: unknown) => example !== undefined && { examples: { typical: { value: example } } };

const exampleOf = (schema: TSchema): unknown => EXAMPLES[idOf(schema) ?? ""];
const idOf = (schema: object): string | undefined => ("$id" in schema && typeof schema.$id === "string" ? schema.$id : undefined);

// Named schemas become components. Records become `additionalProperties`, which client generators understand.
function schemaConverter(schemas: Record<string, Json>): (schema: TSchema) => Json {
  const convert = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(convert);
    if (typeof value !== "object" || value === null) return value;
    const name = idOf(value);
    if (name === undefined) return plain(value);
    schemas[name] ??= plain(value);
    return { $ref: `#/components/schemas/${name}` };
  };
  const plain = (value: object): Json => {
    const { $id: _name, patternProperties, ...rest } = value as Json & { patternProperties?: Record<string, unknown> };
    const converted = Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, convert(inner)]));
    if (patternProperties) converted.additionalProperties = convert(Object.values(patternProperties)[0]);
    if (Array.isArray(converted.enum)) return { type: "string", ...converted };
    return converted;
  };
  return (schema) => convert(schema) as Json;
}
