import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Template } from "@berth/contract";
import { isMap, LineCounter, parseDocument, type Document } from "yaml";
import { completeAgent, KNOWN_AGENTS } from "./agents/catalogue.ts";
import { findFieldError, type TemplateFields } from "./template-fields.ts";

// The templates that sessions can use, by name. `default` is built in. A file (BERTH_TEMPLATES) adds others and may replace it.
export type Templates = ReadonlyMap<string, Template>;

export const DEFAULT_TEMPLATE: Template = {
  name: "default",
  description: "The host's own programs, read-only, with a coding agent",
  memoryMb: 2048,
  cpus: 1,
  pids: 512,
  tmpMb: 512,
  diskMb: 10_240,
  env: {},
  egress: { policy: "public" },
  // goose starts ten times faster than opencode and needs a seventh of the memory, but not every registry has it for arm64.
  agent: KNOWN_AGENTS.goose,
  fallbackAgents: [KNOWN_AGENTS.opencode],
};

// Reads a YAML or JSON file that maps the name of each template to its differences from the default template. Throws an Error with one
// sentence that names the file, the line and the field.
export function loadTemplates(path: string | undefined): Templates {
  const templates = new Map<string, Template>([[DEFAULT_TEMPLATE.name, DEFAULT_TEMPLATE]]);
  if (path === undefined) return templates;
  const lines = new LineCounter();
  const document = parseDocument(readTemplatesFile(path), { lineCounter: lines });
  const fail = (at: readonly string[], sentence: string): never => {
    throw new Error(`${path}, line ${lineOf(document, lines, at)}: ${sentence}`);
  };
  const syntaxError = document.errors[0];
  if (syntaxError) throw new Error(`${path}, line ${lines.linePos(syntaxError.pos[0]).line}: ${syntaxError.message.split("\n")[0]}`);
  if (!isMap(document.contents)) return fail([], "a mapping from template names to templates is needed here");

  for (const [name, fields] of Object.entries(document.toJS() as Record<string, unknown>)) {
    if (!TEMPLATE_NAME.test(name)) fail([name], `the template name "${name}" must be lowercase letters, digits and hyphens, at most 63`);
    if (fields !== null && (typeof fields !== "object" || Array.isArray(fields)))
      fail([name], `${name} must be a mapping of a template's fields`);
    const error = findFieldError(fields ?? {});
    if (error) fail([name, ...error.at], `${[name, ...error.at].join(".")} ${error.message}`);
    templates.set(name, completeTemplate(name, (fields ?? {}) as TemplateFields));
  }
  return templates;
}

// Identifies what a sandbox is made of: the template, without the rules for its sessions, and the driver's recipe. The pool destroys
// sandboxes with another hash. Templates do not change, and most sandboxes are made of one of a few.
export function templateHash(template: Template, recipe = ""): string {
  const known = hashes.get(template);
  if (known?.recipe === recipe) return known.hash;
  const made = Object.fromEntries(Object.entries(template).filter(([field]) => !SESSION_FIELDS.has(field)));
  const hash = createHash("sha256").update(canonicalJson(made)).update(recipe).digest("hex").slice(0, 16);
  hashes.set(template, { recipe, hash });
  return hash;
}

const hashes = new WeakMap<Template, { recipe: string; hash: string }>();

export const TEMPLATE_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
const SESSION_FIELDS: ReadonlySet<string> = new Set<keyof Template>([
  "setup",
  "allowedImages",
  "allowBuilds",
  "idleTimeoutMs",
  "busyCounts",
  "autoResume",
  "onTimeout",
  "maxTimeoutMs",
  "maxResources",
  "maxEgress",
]);

function readTemplatesFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`BERTH_TEMPLATES: ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`, {
      cause: error,
    });
  }
}

function completeTemplate(name: string, { agent: given, ...fields }: TemplateFields): Template {
  const { description: _, ...defaults } = DEFAULT_TEMPLATE;
  if (given === undefined) return { ...defaults, ...fields, name };
  const [agent = null, ...fallbackAgents] = [given ?? []].flat().map(completeAgent);
  return { ...defaults, ...fields, name, agent, fallbackAgents };
}

// The line of the field, or of its nearest parent that is in the file.
function lineOf(document: Document, lines: LineCounter, at: readonly string[]): number {
  for (let depth = at.length; depth > 0; depth--) {
    const parent = depth === 1 ? document.contents : document.getIn(at.slice(0, depth - 1), true);
    const pair = isMap(parent) && parent.items.find((item) => String(item.key) === at[depth - 1]);
    const range = pair && (pair.key as { range?: [number, number, number] | null } | null)?.range;
    if (range) return lines.linePos(range[0]).line;
  }
  return 1;
}

// JSON with sorted keys, so that the order of the keys in the file does not matter.
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
