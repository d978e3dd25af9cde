import type { OpenApi, Operation, OpenApiResponse } from "@berth/contract/openapi/openapi.ts";
import { escapeHtml } from "../../html-page.ts";

// Renders the OpenAPI description for its page in the documentation (docs-site/pages/api.njk): the reference, and the list of operations.
// The page is complete without its script, try-it.js, which adds forms that send requests. 0025-own-static-files-and-docs-page.md
// explains why this is not a library.
export function renderReference(api: OpenApi, baseUrl: string): { reference: string; operations: string } {
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const byTag = api.tags.map((tag) => ({ ...tag, operations: operations.filter(({ operation }) => operation.tags.includes(tag.name)) }));
  return {
    operations: byTag.map(operationList).join("\n"),
    reference: `<header>
<h1>${text(api.info.title)}</h1>
${paragraphs(api.info.description)}
<dl class="facts">
<dt>Version</dt><dd>${text(api.info.version)}</dd>
<dt>Base URL</dt><dd><code>${text(baseUrl)}</code></dd>
<dt>API key</dt><dd><code>Authorization: Bearer berth_…</code> or <code>X-API-Key: berth_…</code></dd>
<dt>Description</dt><dd><a href="/api/b2b/docs">OpenAPI 3.1 (YAML)</a></dd>
</dl>
</header>
${byTag.map((tag) => tagSection(api, tag)).join("\n")}`,
  };
}

interface Entry {
  path: string;
  method: string;
  operation: Operation;
}
type Tag = OpenApi["tags"][number] & { operations: Entry[] };
type Schema = Record<string, unknown>;

const operationList = (tag: Tag): string => `<h2>${text(tag.name)}</h2>
<ul>${tag.operations
  .map(({ method, operation }) => `<li><a href="#${operation.operationId}">${badge(method)} ${text(operation.summary)}</a></li>`)
  .join("")}</ul>`;

const tagSection = (api: OpenApi, tag: Tag): string => `<section>
<h2>${text(tag.name)}</h2>
<p>${inline(tag.description)}</p>
${tag.operations.map((entry) => operationArticle(api, entry)).join("\n")}
</section>`;

function operationArticle(api: OpenApi, { path, method, operation }: Entry): string {
  const parameters = (operation.parameters ?? [])
    .map((parameter) => resolve(api, parameter))
    .filter((parameter) => parameter.in !== "path");
  const bodies = Object.entries(operation.requestBody?.content ?? {});
  const responses = Object.entries(operation.responses);
  return `<article id="${operation.operationId}" data-method="${method}" data-path="${text(path)}">
<h3>${text(operation.summary)}</h3>
<p class="path">${badge(method)} <code>${text(path)}</code>${operation.security ? ' <span class="public">no key</span>' : ""}</p>
${paragraphs(operation.description)}
${parameters.length > 0 ? `<h4>Parameters</h4>${parameterTable(parameters)}` : ""}
${bodies.map(([media, body]) => requestPart(api, media, body, operation)).join("\n")}
<h4>Responses</h4>
${responses.map(([status, response]) => responseDetails(api, status, response)).join("\n")}
</article>`;
}

function responseDetails(api: OpenApi, status: string, unresolved: Operation["responses"][string]): string {
  const response = "$ref" in unresolved ? (resolve(api, unresolved) as unknown as OpenApiResponse) : unresolved;
  const content = response.content?.["application/json"];
  const kind = status < "300" ? "success" : status < "500" ? "client-error" : "server-error";
  const codes =
    kind === "success"
      ? ""
      : Object.keys(content?.examples ?? {})
          .map((code) => `<code>${text(code)}</code>`)
          .join(" ");
  const details =
    kind === "success"
      ? Object.entries(response.content ?? {})
          .map(([media, one]) => mediaPart(api, media, one))
          .join("")
      : codes && `<p class="codes">${codes}</p>`;
  return `<details class="${kind}"${kind === "success" ? " open" : ""}><summary><b>${status}</b> ${inline(response.description)}</summary>${details ?? ""}</details>`;
}

const requestPart = (api: OpenApi, media: string, body: MediaContent, { requestBody }: Operation): string =>
  `<h4>Request${requestBody!.required ? "" : " (optional)"}</h4><div data-request="${text(media)}">${mediaPart(api, media, body)}</div>`;

interface MediaContent {
  schema: Schema;
  examples?: Schema;
}

// JSON is not named, because almost every body is JSON.
function mediaPart(api: OpenApi, media: string, { schema, examples }: MediaContent): string {
  const name = media === "application/json" ? "" : `<p class="media"><code>${text(media)}</code>${STREAMS[media] ?? ""}</p>`;
  const alternatives = resolve(api, schema).anyOf;
  const tables = Array.isArray(alternatives) ? alternatives.map((one) => fieldTable(api, one as Schema)) : [fieldTable(api, schema)];
  return name + tables.join("") + sample(examples);
}

const STREAMS: Record<string, string> = {
  "application/x-ndjson": ": one JSON object per line",
  "text/event-stream": ": one JSON object per <code>data:</code>",
};

function fieldTable(api: OpenApi, schema: Schema): string {
  const { properties = {}, required = [] } = resolve(api, schema) as { properties?: Record<string, Schema>; required?: string[] };
  const rows = Object.entries(properties).map(([name, unresolved]) => {
    const field = resolve(api, unresolved);
    const marker = required.includes(name) ? ' <span class="required">required</span>' : "";
    return `<tr><th scope="row"><code>${text(name)}</code>${marker}</th><td>${text(typeOf(api, field))}</td><td>${inline(field.description ?? "")}${constraintsOf({ ...field, enum: undefined })}</td></tr>`;
  });
  return rows.length === 0
    ? ""
    : `<div class="scroll" tabindex="0" role="group" aria-label="Fields"><table><thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Description</th></tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

function parameterTable(parameters: Schema[]): string {
  const rows = parameters.map(
    ({ name, in: where, required, description, schema }) =>
      `<tr data-parameter="${text(name)}" data-in="${text(where)}" data-required="${required ? "required" : ""}"><th scope="row"><code>${text(name)}</code>${required ? ' <span class="required">required</span>' : ""}</th><td>${text(where)}</td><td>${inline(description)}${constraintsOf(schema as Schema)}</td></tr>`,
  );
  return `<div class="scroll" tabindex="0" role="group" aria-label="Fields"><table><thead><tr><th scope="col">Name</th><th scope="col">In</th><th scope="col">Description</th></tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

function typeOf(api: OpenApi, schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.join(" | ");
  if (schema.type === "array") return `array of ${typeOf(api, resolve(api, (schema.items ?? {}) as Schema))}`;
  if (schema.additionalProperties) return "object, string to string";
  if (Array.isArray(schema.anyOf)) return schema.anyOf.map((one) => typeOf(api, resolve(api, one as Schema))).join(" or ");
  const name = schema.format ?? schema.type;
  return typeof name === "string" ? name : "any";
}

function constraintsOf(schema: Schema): string {
  const constraints = [
    Array.isArray(schema.enum) && `one of ${text(schema.enum.join(", "))}`,
    schema.default !== undefined && `default <code>${text(JSON.stringify(schema.default))}</code>`,
    schema.minimum !== undefined && `from ${text(schema.minimum)}`,
    schema.maximum !== undefined && `to ${text(schema.maximum)}`,
    schema.minLength !== undefined && `at least ${text(schema.minLength)} character`,
    schema.maxLength !== undefined && `at most ${text(schema.maxLength)} characters`,
    schema.maxProperties !== undefined && `at most ${text(schema.maxProperties)} entries`,
  ].filter(Boolean);
  return constraints.length > 0 ? ` <small>${constraints.join(", ")}</small>` : "";
}

function sample(examples: unknown): string {
  const { typical } = (examples ?? {}) as { typical?: { value: unknown } };
  return typical ? `<pre tabindex="0"><code>${text(JSON.stringify(typical.value, null, 2))}</code></pre>` : "";
}

// Follows a reference, which is a path into the document.
function resolve(api: OpenApi, schema: Schema): Schema {
  if (typeof schema.$ref !== "string") return schema;
  let found: unknown = api;
  for (const part of schema.$ref.split("/").slice(1)) found = (found as Schema)[part];
  return found as Schema;
}

const badge = (method: string): string => `<span class="method ${method}">${method.toUpperCase()}</span>`;

const paragraphs = (value: unknown): string =>
  String(value)
    .split("\n\n")
    .map((one) => `<p>${inline(one)}</p>`)
    .join("\n");

const inline = (value: unknown): string => text(value).replaceAll(/`([^`]+)`/g, "<code>$1</code>");

const text = (value: unknown): string => escapeHtml(String(value));
