// Writes berth/_types.py: the bodies of the API as frozen dataclasses, and the options of calls as TypedDicts, from the OpenAPI description.
import { wireSchemas, type WireSchema } from "../../../scripts/wire-schemas.ts";
import { pythonName, snakeCase } from "./python-names.ts";

// Responses of which the TypeScript client makes types of its own.
const RESPONSES_BESIDE = ["KeyWithSecret", "RotatedKey", "RotatedSecret", "WebhookWithSecret"];

// The names of the TypeScript client, where they differ from those of the description.
const NAMES: Record<string, string> = {
  Event: "BerthEvent",
  Process: "ProcessData",
  Run: "RunData",
  SessionRead: "SessionData",
  SetupRead: "SetupData",
  Snapshot: "SnapshotData",
  SourceRead: "SourceData",
};

// Objects whose name in the description would be long, by the place where they first appear.
const PLACES: Record<string, string> = {
  ExecEventStdoutStderr: "ExecOutput",
  ExecEventExit: "ExecExit",
  RunDataWaitsForPermission: "RunQuestion",
  RunDataWaitsForForm: "RunForm",
  RunDataWaitsForUrl: "RunAddress",
  RunEventRunRun: "RunNow",
  SessionOptionsEgress: "SessionEgress",
  SessionOptionsResources: "Resources",
  RunDataPermissionsReadEditDeleteMoveSearch: "FileRuleData",
  RunDataPermissionsShell: "ShellRuleData",
  RunDataPermissionsFetchOtherAny: "OtherRuleData",
  RunOptionsPermissionsReadEditDeleteMoveSearch: "FileRule",
  RunOptionsPermissionsShell: "ShellRule",
  RunOptionsPermissionsFetchOtherAny: "OtherRule",
  RunOptionsAttachmentsPath: "FileAttachment",
  RunOptionsAttachmentsImage: "ImageAttachment",
};

// The client does not yield these: it throws the error, and `agent` is of no use in a turn.
const OMITTED_VARIANTS: Record<string, string[]> = { ExecEvent: ["error"], AgentMessage: ["agent"] };

// The options of calls: the schema, and its properties that are parameters of their own.
const OPTIONS: Record<string, [schema: string, parameters: string[]]> = {
  RunOptions: ["StartRun", ["prompt"]],
  SessionOptions: ["CreateSession", ["externalUserId", "source", "count"]],
  SessionChanges: ["UpdateSession", []],
  ExecOptions: ["ExecRequest", ["command"]],
  ProcessOptions: ["StartProcess", ["command", "args"]],
  PromptOptions: ["PromptRequest", ["text"]],
  KeyOptions: ["CreateKey", []],
  RotateOptions: ["RotateKey", []],
  VolumeOptions: ["CreateVolume", []],
  WebhookOptions: ["CreateWebhook", []],
  WebhookChanges: ["UpdateWebhook", []],
  LaunchOptions: ["IssueLaunchUrl", []],
  PreviewOptions: ["IssuePreviewUrl", ["port"]],
  SessionTokenOptions: ["CreateSessionToken", []],
  RunAnswer: ["AnswerRun", ["itemId"]],
  QuestionAnswer: ["QuestionAnswer", ["conversationId", "itemId"]],
};

const RESPONSES = [
  "AgentMessage",
  "AgentState",
  "Delivery",
  "EgressHost",
  "Event",
  "ExecEvent",
  "FileEntry",
  "Key",
  "LaunchUrl",
  "PreviewUrl",
  "Process",
  "ProcessEvent",
  "Run",
  "RunEvent",
  "RunSummary",
  "SessionRead",
  "SessionToken",
  "SessionTokenWithSecret",
  "Snapshot",
  "UsageReport",
  "Volume",
  "Webhook",
  "WrittenFile",
  ...RESPONSES_BESIDE,
];

// `repr()` of a response leaves these out, so that they reach no log.
const SECRETS = new Set(["key", "secret", "token"]);

type Mode = "response" | "request";

export function generatePythonTypes(): string {
  const schemas = wireSchemas(RESPONSES_BESIDE);
  const definitions: string[] = [];
  const named = new Map<string, string>();

  for (const name of RESPONSES) refer(name, "response");
  for (const [name, [schema, parameters]] of Object.entries(OPTIONS)) define(schemas[schema]!, name, "request", parameters);
  // The source is a parameter.
  refer("Source", "request");
  const text = definitions.join("\n\n");
  const names = [...text.matchAll(/^(?:class ([A-Z]\w*)|([A-Z]\w*) = )/gm)].map(([, type, alias]) => type ?? alias!).toSorted();
  const all = `__all__ = [\n${names.map((name) => `    "${name}",\n`).join("")}]\n`;
  return [HEADER + all, text, sessionFields()].join("\n\n");

  function refer(name: string, mode: Mode): string {
    const key = `${mode} ${name}`;
    const known = named.get(key);
    if (known) return known;
    const isTaken = mode === "request" && [...named.values()].includes(NAMES[name] ?? name);
    const chosen = isTaken ? `${name}Dict` : (NAMES[name] ?? name);
    named.set(key, chosen);
    const schema = schemas[name]!;
    if (schema.properties) named.set(key, define(schema, chosen, mode));
    else definitions.push(`${chosen} = ${typeOf(schema, chosen, mode)}\n`);
    return named.get(key)!;
  }

  function typeOf(schema: WireSchema, place: string, mode: Mode): string {
    if (schema.$ref) return refer(schema.$ref.split("/").at(-1)!, mode);
    if (schema.anyOf) return unionOf(schema.anyOf, place, mode);
    if (schema.const !== undefined) return `Literal[${typeof schema.const === "string" ? quote(schema.const) : "True"}]`;
    if (schema.enum) return `Literal[${schema.enum.map(quote).join(", ")}]`;
    if (schema.type === "array") return `${mode === "response" ? "List" : "Sequence"}[${typeOf(schema.items ?? {}, place, mode)}]`;
    if (schema.properties) return define(schema, place, mode);
    if (schema.type === "object")
      return `Dict[str, ${isSchema(schema.additionalProperties) ? typeOf(schema.additionalProperties, place, mode) : "Any"}]`;
    return { string: "str", integer: "int", number: "float", boolean: "bool", null: "None" }[schema.type ?? ""] ?? "Any";
  }

  function unionOf(variants: WireSchema[], place: string, mode: Mode): string {
    const omitted = OMITTED_VARIANTS[place] ?? [];
    const kept = variants.filter(({ properties }) => !omitted.includes(String(properties?.type?.const)));
    const isSeveral = kept.filter(({ properties }) => properties).length > 1;
    const types = kept.map((variant) => typeOf(variant, isSeveral && variant.properties ? place + tagOf(variant) : place, mode));
    const others = types.filter((type) => type !== "None");
    const union = others.length === 1 ? others[0]! : `Union[${others.join(", ")}]`;
    return others.length === types.length ? union : `Optional[${union}]`;
  }

  function define(schema: WireSchema, place: string, mode: Mode, parameters: string[] = []): string {
    const chosen = PLACES[place] ?? place;
    // Bodies that appear at several places have one name.
    const key = `${mode} ${JSON.stringify([schema.properties, schema.required, parameters])}`;
    const known = named.get(key);
    if (known) return known;
    named.set(key, chosen);
    const properties = Object.entries(schema.properties!).filter(([name]) => !parameters.includes(name));
    const fields = properties.map(([name, property]) => ({
      name: pythonName(name),
      type: typeOf(property, chosen + snakeCase(name).split("_").map(capital).join(""), mode),
      isRequired: schema.required?.includes(name) ?? false,
      text: property.description,
    }));
    definitions.push(mode === "response" ? dataclass(chosen, schema, fields) : typedDict(chosen, fields));
    return chosen;
  }

  // The fields of a session as properties, which the session replaces when it changes.
  function sessionFields(): string {
    const fields = Object.entries(schemas.SessionRead!.properties!).map(([name, { description }]) => {
      const python = pythonName(name);
      const type = typeOf(
        schemas.SessionRead!.properties![name]!,
        `SessionData${snakeCase(name).split("_").map(capital).join("")}`,
        "response",
      );
      const isRequired = schemas.SessionRead!.required!.includes(name);
      return `    @property\n    def ${python}(self) -> ${isRequired ? type : optional(type)}:\n${docstring(description, 8)}        return self.data.${python}\n`;
    });
    return `class SessionFields:\n    data: SessionData\n\n${fields.join("\n")}`;
  }
}

interface Field {
  name: string;
  type: string;
  isRequired: boolean;
  text?: string;
}

function dataclass(name: string, { description, additionalProperties }: WireSchema, fields: Field[]): string {
  const sorted = [...fields.filter(({ isRequired }) => isRequired), ...fields.filter(({ isRequired }) => !isRequired)];
  const lines = sorted.map(({ name: field, type, isRequired, text }) => {
    const options = [...(isRequired ? [] : ["default=None"]), ...(SECRETS.has(field) ? ["repr=False"] : [])];
    const value =
      options.length === 0 ? "" : options[0] === "default=None" && options.length === 1 ? " = None" : ` = field(${options.join(", ")})`;
    return `    ${field}: ${isRequired ? type : optional(type)}${value}\n${docstring(text, 4)}`;
  });
  const isOpen = additionalProperties === true;
  return `@dataclass(frozen=True)\nclass ${name}${isOpen ? "(Open)" : ""}:\n${docstring(description, 4)}${lines.join("")}`;
}

// Python 3.9 knows required keys only by inheritance.
function typedDict(name: string, fields: Field[]): string {
  const lines = (chosen: Field[]) => chosen.map(({ name: field, type, text }) => `    ${field}: ${type}\n${docstring(text, 4)}`).join("");
  const required = fields.filter(({ isRequired }) => isRequired);
  const others = fields.filter(({ isRequired }) => !isRequired);
  if (others.length === 0) return `class ${name}(TypedDict):\n${lines(required)}`;
  if (required.length === 0) return `class ${name}(TypedDict, total=False):\n${lines(others)}`;
  return `class _${name}Required(TypedDict):\n${lines(required)}\n\nclass ${name}(_${name}Required, total=False):\n${lines(others)}`;
}

const isSchema = (value: boolean | WireSchema | undefined): value is WireSchema => typeof value === "object";
const optional = (type: string) => (type.startsWith("Optional[") ? type : `Optional[${type}]`);
const quote = (text: string) => JSON.stringify(text);
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
const docstring = (text: string | undefined, indent: number) =>
  text ? `${" ".repeat(indent)}"""${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"""\n` : "";

// The part of a variant that tells it from the others, for its name: the values of its tag, or its first required property.
function tagOf({ properties = {}, required = [] }: WireSchema): string {
  const tag = ["type", "kind", "tool"].map((name) => properties[name]).find((schema) => schema?.const ?? schema?.enum);
  const values = tag ? [tag.const ?? tag.enum!].flat() : [required[0]!];
  return values.map((value) => (value === "*" ? "Any" : String(value).split(/[_.]/).map(capital).join(""))).join("");
}

const HEADER = `# Written at build time from the OpenAPI description of the API.
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Literal, Optional, Sequence, TypedDict, Union

from ._wire import Open
`;
