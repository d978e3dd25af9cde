import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { Settings } from "typebox/system";
import {
  ENV_LIMITS,
  ENV_NAME_RULE,
  GIT_REF_PATTERN,
  GIT_URL_PATTERN,
  METADATA_KEY_RULE,
  METADATA_LIMITS,
  SOURCE_PATH_PATTERN,
  VOLUME_PATH_PATTERN,
  type FieldFault,
} from "@berth/contract";

// TypeBox stops after eight errors by default. Records of at most 100 and 50 entries, each with two faults, fit into this.
Settings.Set({ maxErrors: 400 });

// Returns a function that finds all faults of a body at once. Types are strict; unknown fields are ignored. The schema is compiled at the
// first call, because compiling all of them slows the server's start.
export function compileFaultFinder(schema: TSchema): (body: Record<string, unknown>) => FieldFault[] {
  let checker: ReturnType<typeof Compile> | undefined;
  return (body) => {
    checker ??= Compile(schema);
    if (checker.Check(body)) return [];
    const { faults, rest } = replaceOversizedRecords(body);
    for (const error of checker.Errors(rest)) faults.push(...toFaults(error));
    return faults;
  };
}

// A record with thousands of entries gets a single fault: checking every entry would take half a second.
function replaceOversizedRecords(body: Record<string, unknown>): { faults: FieldFault[]; rest: Record<string, unknown> } {
  const faults: FieldFault[] = [];
  let rest = body;
  for (const [field, limit] of [
    ["envVars", ENV_LIMITS.entries],
    ["metadata", METADATA_LIMITS.entries],
  ] as const) {
    const record = body[field];
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
  // TypeBox also reports the parts of these one by one.
  if (error.keyword === "propertyNames" || error.keyword === "anyOf") return [];
  // For a nullable field, the fault of the other alternative says more than "Must be null".
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
      return `Must be ${withArticle([error.params.type].flat().join(" or "))}`;
    case "minLength":
      return error.params.limit === 1 ? "Must not be empty" : `Must have at least ${error.params.limit} characters`;
    case "maxLength":
      return `Must have at most ${error.params.limit} characters`;
    case "minimum":
      return `Must be at least ${error.params.limit}`;
    case "maximum":
      return `Must be at most ${error.params.limit}`;
    case "pattern":
      return patternMessage(String(error.params.pattern));
    case "format":
      return "Must be a URL";
    case "enum":
      return `Must be one of ${error.params.allowedValues.join(", ")}`;
    default:
      return `${error.message[0]!.toUpperCase()}${error.message.slice(1)}`;
  }
}

// A caller cannot read a regular expression, so those that need more than a glance have a sentence.
function patternMessage(pattern: string): string {
  const known = PATTERN_RULES[pattern];
  if (known) return known;
  if (pattern.startsWith("^[^\\u0000]")) return "Must not contain NUL";
  return pattern.startsWith("^[^\\u0000-") ? "Must not contain control characters" : `Must match ${pattern}`;
}

const PATTERN_RULES: Record<string, string> = {
  [GIT_URL_PATTERN]: "Must be a URL that begins with http:// or https://, without a user, query and fragment",
  [GIT_REF_PATTERN]: "Must be the name of a branch or tag, or a commit",
  [SOURCE_PATH_PATTERN]: "Must be a path below the workspace, without . and ..",
  [VOLUME_PATH_PATTERN]: "Must be a path below /mnt, /data or /home/user, without . and ..",
};

const withArticle = (type: string): string => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`);

// Converts a JSON pointer to a path with dots.
const fieldOf = (pointer: string): string =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .join(".");
