import { isAbsolute } from "node:path";
import { AgentSpec, EgressPolicy, Template } from "@berth/contract";
import { LANGUAGES } from "@berth/contract/languages.ts";
import Type from "typebox";
import { Value } from "typebox/value";
import type { GivenAgent } from "./agents/catalogue.ts";
import { HOST_PATTERN } from "./egress-hosts.ts";

// The fields that a template file may set: any part of a template. An agent needs at least a command; several agents are in order of
// preference.
export type TemplateFields = Partial<Omit<Template, "agent" | "fallbackAgents">> & { agent?: GivenAgent | GivenAgent[] | null };

export interface FieldError {
  // The path of the field.
  at: string[];
  message: string;
}

// Returns the first error in the fields of one template.
export function findFieldError(fields: object): FieldError | undefined {
  const unknown = Object.keys(fields).find((field) => !(field in Schema.properties));
  if (unknown !== undefined)
    return { at: [unknown], message: `is not a field of a template; the fields are ${Object.keys(Schema.properties).join(", ")}` };
  const template = fields as TemplateFields;
  // TypeBox reports only "must match anyOf" for a union, so the fields that are unions are checked first.
  for (const field of ["egress", "maxEgress"] as const)
    if (template[field] !== undefined && !Value.Check(EgressPolicy, template[field]))
      return { at: [field], message: "must be {policy: none}, {policy: public} or {policy: hosts, hosts: [names]}" };
  return findAgentError(template.agent) ?? firstSchemaError(Schema, fields) ?? findInvalidValue(template);
}

const Schema = Type.Object({
  ...Type.Partial(Type.Omit(Template, ["name", "fallbackAgents"])).properties,
  agent: Type.Optional(Type.Unknown()),
});

const VARIABLE = /^(?!BERTH_)[^=\0]+$/;

function findAgentError(agent: unknown): FieldError | undefined {
  if (agent === undefined || agent === null) return undefined;
  const agents: unknown[] = Array.isArray(agent) ? agent : [agent];
  if (agents.length === 0) return { at: ["agent"], message: "must name a command, or be null" };
  for (const each of agents) {
    if (typeof each === "string" && each !== "") continue;
    const error = firstSchemaError(Type.Partial(AgentSpec), each);
    if (error) return { at: ["agent", ...error.at], message: error.message };
    if (typeof (each as Partial<AgentSpec>).command !== "string") return { at: ["agent"], message: "must name a command" };
  }
  return undefined;
}

function firstSchemaError(schema: Type.TSchema, value: unknown): FieldError | undefined {
  const error = Value.Errors(schema, value)[0];
  return error && { at: error.instancePath.split("/").slice(1), message: error.message };
}

// Checks rules that the schema cannot express.
function findInvalidValue({ root, env, egress, maxEgress, model, languageServers, relays }: TemplateFields): FieldError | undefined {
  if (root !== undefined && !isAbsolute(root)) return { at: ["root"], message: `must be an absolute path, not "${root}"` };
  const variable = Object.keys(env ?? {}).find((name) => !VARIABLE.test(name));
  if (variable !== undefined) return { at: ["env", variable], message: "is not a valid variable name (names with BERTH_ are reserved)" };
  const language = Object.keys(languageServers ?? {}).find((name) => !LANGUAGES.some((known) => known === name));
  if (language !== undefined) return { at: ["languageServers", language], message: `is not one of ${LANGUAGES.join(", ")}` };
  const upstream = relays?.find((relay) => !URL.canParse(relay.upstream))?.upstream;
  if (upstream !== undefined) return { at: ["relays"], message: `has "${upstream}", which is not a URL` };
  const { provider, apiKeyVariable, baseUrl } = model ?? {};
  if ((provider === undefined) !== (apiKeyVariable === undefined) || (baseUrl !== undefined && provider === undefined))
    return { at: ["model"], message: "must name provider and apiKeyVariable together, and baseUrl only with them" };
  return findInvalidHost("egress", egress) ?? findInvalidHost("maxEgress", maxEgress);
}

function findInvalidHost(field: string, egress: EgressPolicy | undefined): FieldError | undefined {
  const host = egress?.policy === "hosts" ? egress.hosts.find((name) => !HOST_PATTERN.test(name)) : undefined;
  if (host === undefined) return undefined;
  return { at: [field, "hosts"], message: `has "${host}", which is not a host, *.domain or address with an optional :port` };
}
