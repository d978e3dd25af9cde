import { Compile } from "typebox/compile";
import { Settings } from "typebox/system";
import type { TSchema } from "typebox";
import {
  AppError,
  CreateSession,
  DEFAULT_TEMPLATE,
  ENV_LIMITS,
  ENV_NAME_RULE,
  METADATA_KEY_RULE,
  METADATA_LIMITS,
  ResumeSession,
  TIMEOUT_MS,
  UpdateSession,
  type FieldFault,
} from "@berth/contract";
import type { CreateRequest, SessionChange } from "../../sessions/sessions.ts";
import { bodyFault } from "../requests/field-faults.ts";

// Types are strict, unknown fields are ignored, and every fault of a body is told at once.

// TypeBox stops after eight. Two records of at most 100 and 50 entries, each wrong twice, fit into this.
Settings.Set({ maxErrors: 400 });

const createFaults = faultFinder(CreateSession);
const resumeFaults = faultFinder(ResumeSession);
const updateFaults = faultFinder(UpdateSession);

export function parseCreate(body: Record<string, unknown> | undefined, templates: { has(name: string): boolean }): CreateRequest {
  if (!body) throw bodyFault("Required");
  const faults = createFaults(body);
  const request = body as CreateSession;
  const isFaulty = (field: string) => faults.some((fault) => fault.field === field || fault.field.startsWith(`${field}.`));
  if (!isFaulty("template") && request.template !== undefined && !templates.has(request.template)) {
    faults.push({ field: "template", message: "Not a configured template" });
  }
  if (!isFaulty("envVars") && request.envVars && bytesOf(request.envVars) > ENV_LIMITS.totalBytes) {
    faults.push({ field: "envVars", message: "Must have at most 256 KiB together" });
  }
  refuse(faults);
  return {
    externalUserId: request.externalUserId,
    envVars: request.envVars ?? {},
    template: request.template ?? DEFAULT_TEMPLATE,
    timeoutMs: request.timeoutMs ?? TIMEOUT_MS.default,
    autoStartAgent: request.autoStartAgent ?? true,
    metadata: request.metadata ?? {},
  };
}

export function parseResume(body: Record<string, unknown> | undefined): { autoStartAgent: boolean } {
  if (!body) return { autoStartAgent: true };
  refuse(resumeFaults(body));
  return { autoStartAgent: (body as ResumeSession).autoStartAgent ?? true };
}

export function parseUpdate(body: Record<string, unknown> | undefined): SessionChange {
  if (!body) throw bodyFault("Required");
  refuse(updateFaults(body));
  const { timeoutMs, metadata } = body as UpdateSession;
  return { ...(timeoutMs !== undefined && { timeoutMs }), ...(metadata && { metadata }) };
}

export function refuse(faults: FieldFault[]): void {
  if (faults.length > 0) throw new AppError("validation_failed", { details: faults });
}

export function faultFinder(schema: TSchema): (value: Record<string, unknown>) => FieldFault[] {
  const checker = Compile(schema);
  return (value) => {
    if (checker.Check(value)) return [];
    const { faults, rest } = setAsideOverfull(value);
    for (const error of checker.Errors(rest)) faults.push(...toFaults(error));
    return faults;
  };
}

// A record with thousands of entries has one fault worth telling; looking at each would take half a second.
function setAsideOverfull(value: Record<string, unknown>): { faults: FieldFault[]; rest: Record<string, unknown> } {
  const faults: FieldFault[] = [];
  let rest = value;
  for (const [field, limit] of [
    ["envVars", ENV_LIMITS.entries],
    ["metadata", METADATA_LIMITS.entries],
  ] as const) {
    const record = value[field];
    if (typeof record !== "object" || record === null || Array.isArray(record) || Object.keys(record).length <= limit) continue;
    faults.push({ field, message: `Must have at most ${limit} entries` });
    rest = { ...rest, [field]: {} };
  }
  return { faults, rest };
}

type SchemaError = ReturnType<ReturnType<typeof Compile>["Errors"]>[number];

function toFaults(error: SchemaError): FieldFault[] {
  const field = fieldOf(error.instancePath);
  if (error.keyword === "required") {
    return error.params.requiredProperties.map((name) => ({ field: field ? `${field}.${name}` : name, message: "Required" }));
  }
  // Their parts have been told one by one; and who sends a wrong value did not mean null.
  if (error.keyword === "propertyNames" || error.keyword === "anyOf") return [];
  if (error.keyword === "type" && error.params.type === "null") return [];
  return [{ field: field || "body", message: messageOf(error) }];
}

const NAME_RULES: Record<string, string> = {
  "#/properties/envVars/propertyNames": ENV_NAME_RULE,
  "#/properties/metadata/propertyNames": METADATA_KEY_RULE,
};

function messageOf(error: SchemaError): string {
  const rule = NAME_RULES[error.schemaPath];
  if (rule) return rule;
  switch (error.keyword) {
    case "type":
      return `Must be ${article([error.params.type].flat().join(" or "))}`;
    case "minLength":
      return error.params.limit === 1 ? "Must not be empty" : `Must have at least ${error.params.limit} characters`;
    case "maxLength":
      return `Must have at most ${error.params.limit} characters`;
    case "minimum":
      return `Must be at least ${error.params.limit}`;
    case "maximum":
      return `Must be at most ${error.params.limit}`;
    case "pattern":
      return "Must not contain NUL";
    case "format":
      return "Must be a URL";
    case "enum":
      return `Must be one of ${error.params.allowedValues.join(", ")}`;
    default:
      return `${error.message[0]!.toUpperCase()}${error.message.slice(1)}`;
  }
}

const article = (type: string): string => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`);

// A JSON pointer as a path with dots.
const fieldOf = (pointer: string): string =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .join(".");

const bytesOf = (record: Record<string, string>): number =>
  Object.entries(record).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
