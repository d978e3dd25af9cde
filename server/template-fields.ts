import { isAbsolute } from "node:path";
import { AgentSpec, EgressPolicy, Template } from "@berth/contract";
import { LANGUAGES } from "@berth/contract/daemon/languages.ts";
import Type from "typebox";
import { Value } from "typebox/value";
import type { GivenAgent } from "./agents/catalogue.ts";
import { DENIABLE, deniedOf, findEntryFault, isDeniable } from "./egress-hosts.ts";
import { findMcpFaults } from "./mcp-servers.ts";

// The fields that a template file may set: any part of a template. An agent needs at least a command; several agents are in order of
// preference.
export type TemplateFields = Partial<Omit<Template, "agent" | "fallbackAgents">> & { agent?: GivenAgent | GivenAgent[] | null };

export interface FieldError {
  // The path of the field.
  at: string[];
  message: string;
}

// Returns the first error in the fields of one template.
export const findFieldError = (fields: object): FieldError | undefined => findFieldErrors(fields)[0];

// Returns all errors, at most one for each field.
export function findFieldErrors(fields: object): FieldError[] {
  const unknown = Object.keys(fields).filter((field) => !(field in Schema.properties));
  const known = Object.fromEntries(Object.entries(fields).filter(([field]) => !unknown.includes(field))) as TemplateFields;
  const names = Object.keys(Schema.properties).join(", ");
  const errors = [
    ...unknown.map((field) => ({ at: [field], message: `is not a field of a template; the fields are ${names}` })),
    ...findEgressErrors(known),
    ...findAgentErrors(known.agent),
    ...schemaErrors(Schema, known),
  ];
  const byField = new Map(errors.toReversed().map((error) => [error.at[0] ?? "", error]));
  // The other rules assume values of the right type.
  const valid = Object.fromEntries(Object.entries(known).filter(([field]) => !byField.has(field))) as TemplateFields;
  return [...new Set(errors.map(({ at }) => byField.get(at[0] ?? "")!)), ...findInvalidValues(valid)];
}

// TypeBox reports only "must match anyOf" for a union, so the fields that are unions are checked first.
const findEgressErrors = (template: TemplateFields): FieldError[] =>
  (["egress", "maxEgress"] as const)
    .filter((field) => template[field] !== undefined && !Value.Check(EgressPolicy, template[field]))
    .map((field) => ({ at: [field], message: "must be {policy: none}, {policy: public} or {policy: hosts, hosts: [names or rules]}" }));

const Schema = Type.Object({
  ...Type.Partial(Type.Omit(Template, ["name", "fallbackAgents"])).properties,
  agent: Type.Optional(Type.Unknown()),
});

const VARIABLE = /^(?!BERTH_)[^=\0]+$/;

function findAgentErrors(agent: unknown): FieldError[] {
  if (agent === undefined || agent === null) return [];
  const agents: unknown[] = Array.isArray(agent) ? agent : [agent];
  if (agents.length === 0) return [{ at: ["agent"], message: "must name a command, or be null" }];
  return agents.flatMap((each) => {
    if (typeof each === "string" && each !== "") return [];
    const errors = schemaErrors(Type.Partial(AgentSpec), each);
    if (errors.length > 0) return errors.map(({ at, message }) => ({ at: ["agent", ...at], message }));
    return typeof (each as Partial<AgentSpec>).command === "string" ? [] : [{ at: ["agent"], message: "must name a command" }];
  });
}

const schemaErrors = (schema: Type.TSchema, value: unknown): FieldError[] =>
  Value.Errors(schema, value).map(({ instancePath, message }) => ({ at: instancePath.split("/").slice(1), message }));

// Checks rules that the schema cannot express.
function findInvalidValues(fields: TemplateFields): FieldError[] {
  const { root, image, writableRoot, env, egress, maxEgress, model, languageServers, relays, mcpServers } = fields;
  const errors: FieldError[] = [];
  const add = (at: string[], message: string) => void errors.push({ at, message });
  if (root !== undefined && !isAbsolute(root)) add(["root"], `must be an absolute path, not "${root}"`);
  if (writableRoot && root === undefined && image === undefined)
    add(["writableRoot"], "needs a root or an image: the host's own programs stay read-only");
  if (root !== undefined && image !== undefined) add(["image"], "must not be named together with root: a sandbox has one of them");
  const variable = Object.keys(env ?? {}).find((name) => !VARIABLE.test(name));
  if (variable !== undefined) add(["env", variable], "is not a valid variable name (names with BERTH_ are reserved)");
  const language = Object.keys(languageServers ?? {}).find((name) => !LANGUAGES.some((known) => known === name));
  if (language !== undefined) add(["languageServers", language], `is not one of ${LANGUAGES.join(", ")}`);
  const upstream = relays?.find((relay) => !URL.canParse(relay.upstream))?.upstream;
  if (upstream !== undefined) add(["relays"], `has "${upstream}", which is not a URL`);
  for (const { field, message } of findMcpFaults(mcpServers ?? [], "valueVariable")) add(field.split("."), `is not valid: ${message}`);
  const { provider, apiKeyVariable, baseUrl } = model ?? {};
  if ((provider === undefined) !== (apiKeyVariable === undefined) || (baseUrl !== undefined && provider === undefined))
    add(["model"], "must name provider and apiKeyVariable together, and baseUrl only with them");
  return [...errors, ...findInvalidHosts("egress", egress), ...findInvalidHosts("maxEgress", maxEgress)];
}

function findInvalidHosts(field: string, egress: EgressPolicy | undefined): FieldError[] {
  const fault = egress?.policy === "hosts" ? egress.hosts.map(findEntryFault).find((found) => found !== undefined) : undefined;
  if (fault) return [{ at: [field, "hosts"], message: `has "${fault.value}", which is not ${fault.rule}` }];
  const strange = egress && deniedOf(egress).find((host) => !isDeniable(host));
  return strange === undefined ? [] : [{ at: [field, "deny"], message: `has "${strange}", which is not ${DENIABLE}` }];
}
