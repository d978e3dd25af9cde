import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { AgentSpec, EgressPolicy, Template } from "@berth/contract";
import Type from "typebox";
import { Value } from "typebox/value";
import { isMap, LineCounter, parseDocument, type Document } from "yaml";
import { completeAgent, type GivenAgent, KNOWN_AGENTS } from "./agents/catalogue.ts";

// The templates that sessions may name. `default` is built in; a file (BERTH_TEMPLATES) adds others and may replace it.
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
  // goose starts in a tenth of the time with a seventh of the memory, but not every registry has it for arm64.
  agent: KNOWN_AGENTS.goose,
  fallbackAgents: [KNOWN_AGENTS.opencode],
};

// The file is YAML or JSON: a mapping from a template's name to what differs from the built-in default. Whatever is wrong
// in it ends in one Error whose sentence names the file, the line and the field.
export function loadTemplates(path: string | undefined): Templates {
  const templates = new Map<string, Template>([[DEFAULT_TEMPLATE.name, DEFAULT_TEMPLATE]]);
  if (path === undefined) return templates;
  const lines = new LineCounter();
  const document = parseDocument(readTemplates(path), { lineCounter: lines });
  const fail = (at: readonly string[], sentence: string): never => {
    throw new Error(`${path}, line ${lineOf(document, lines, at)}: ${sentence}`);
  };
  const broken = document.errors[0];
  if (broken) throw new Error(`${path}, line ${lines.linePos(broken.pos[0]).line}: ${broken.message.split("\n")[0]}`);
  if (!isMap(document.contents)) return fail([], "a mapping from template names to templates is needed here");

  for (const [name, given] of Object.entries(document.toJS() as Record<string, unknown>)) {
    if (!NAME.test(name)) fail([name], `the template name "${name}" must be lowercase letters, digits and hyphens, at most 63`);
    if (given !== null && (typeof given !== "object" || Array.isArray(given)))
      fail([name], `${name} must be a mapping of a template's fields`);
    const fault = findFault(given ?? {});
    if (fault) fail([name, ...fault.at], `${[name, ...fault.at].join(".")} ${fault.message}`);
    templates.set(name, fillIn(name, (given ?? {}) as Given));
  }
  return templates;
}

// Tells whether a sandbox was made from the template, and by the driver's recipe, as they are now: the pool throws away those
// that were not.
export function templateHash(template: Template, recipe = ""): string {
  return createHash("sha256").update(canonical(template)).update(recipe).digest("hex").slice(0, 16);
}

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
const VARIABLE = /^(?!BERTH_)[^=\0]+$/;
const HOST = /^((\*\.)?([a-z0-9_-]+\.)*[a-z0-9_-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

function readTemplates(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`${path}: the templates file cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`, {
      cause: error,
    });
  }
}

interface Fault {
  at: string[];
  message: string;
}

// What a file may say: any part of a template, and of its agent at least the command. Several agents are in order of
// preference.
const Given = Type.Object({
  ...Type.Partial(Type.Omit(Template, ["name", "fallbackAgents"])).properties,
  agent: Type.Optional(Type.Unknown()),
});
type Given = Partial<Omit<Template, "agent" | "fallbackAgents">> & { agent?: GivenAgent | GivenAgent[] | null };

function findFault(given: object): Fault | undefined {
  const unknown = Object.keys(given).find((field) => !(field in Given.properties));
  if (unknown !== undefined)
    return { at: [unknown], message: `is not a field of a template; there are ${Object.keys(Given.properties).join(", ")}` };
  const template = given as Given;
  // A union's own message ("must match anyOf") helps nobody, so the two fields that are unions come first.
  if (template.egress !== undefined && !Value.Check(EgressPolicy, template.egress)) {
    return { at: ["egress"], message: "must be {policy: none}, {policy: public} or {policy: hosts, hosts: [names]}" };
  }
  return findAgentFault(template.agent) ?? firstError(Given, given) ?? findMeaninglessValue(template);
}

function findAgentFault(agent: unknown): Fault | undefined {
  if (agent === undefined || agent === null) return undefined;
  const agents: unknown[] = Array.isArray(agent) ? agent : [agent];
  if (agents.length === 0) return { at: ["agent"], message: "must name a command, or be null" };
  for (const each of agents) {
    if (typeof each === "string" && each !== "") continue;
    const fault = firstError(Type.Partial(AgentSpec), each);
    if (fault) return { at: ["agent", ...fault.at], message: fault.message };
    if (typeof (each as Partial<AgentSpec>).command !== "string") return { at: ["agent"], message: "must name a command" };
  }
  return undefined;
}

function firstError(schema: Type.TSchema, value: unknown): Fault | undefined {
  const error = Value.Errors(schema, value)[0];
  return error && { at: error.instancePath.split("/").slice(1), message: error.message };
}

function findMeaninglessValue({ root, env, egress, model }: Given): Fault | undefined {
  if (root !== undefined && !isAbsolute(root)) return { at: ["root"], message: `must be an absolute path, not "${root}"` };
  const variable = Object.keys(env ?? {}).find((name) => !VARIABLE.test(name));
  if (variable !== undefined) return { at: ["env", variable], message: "is no name for a variable (BERTH_* is ours)" };
  const { provider, apiKeyVariable, baseUrl } = model ?? {};
  if ((provider === undefined) !== (apiKeyVariable === undefined) || (baseUrl !== undefined && provider === undefined))
    return { at: ["model"], message: "must name provider and apiKeyVariable together, and baseUrl only with them" };
  const host = egress?.policy === "hosts" && egress.hosts.find((name) => !HOST.test(name));
  if (typeof host === "string")
    return { at: ["egress", "hosts"], message: `has "${host}", which is neither a host, *.domain nor an address, with or without :port` };
  return undefined;
}

function fillIn(name: string, { agent: given, ...fields }: Given): Template {
  const { description: _, ...defaults } = DEFAULT_TEMPLATE;
  if (given === undefined) return { ...defaults, ...fields, name };
  const [agent = null, ...fallbackAgents] = [given ?? []].flat().map(completeAgent);
  return { ...defaults, ...fields, name, agent, fallbackAgents };
}

function lineOf(document: Document, lines: LineCounter, at: readonly string[]): number {
  for (let depth = at.length; depth > 0; depth--) {
    const parent = depth === 1 ? document.contents : document.getIn(at.slice(0, depth - 1), true);
    const pair = isMap(parent) && parent.items.find((item) => String(item.key) === at[depth - 1]);
    const range = pair && (pair.key as { range?: [number, number, number] | null } | null)?.range;
    if (range) return lines.linePos(range[0]).line;
  }
  return 1;
}

// JSON with sorted keys, so that the order in a file changes nothing.
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
