import type { ElicitationPropertySchema, ElicitationSchema, EnumOption, MultiSelectPropertySchema } from "@agentclientprotocol/sdk";
import type { FormChoice, FormField } from "@berth/contract/questions.ts";
import { plainLine, plainText } from "../conversations/plain-text.ts";

const MAX_FIELDS = 50;
const MAX_CHOICES = 200;
const MAX_ID = 200;
const MAX_LABEL = 200;
const MAX_DESCRIPTION = 1000;
const MAX_PATTERN = 500;
const MAX_DEFAULT = 64 * 1024;

// The fields of a form that an agent asks a person to fill in. Throws a sentence for the agent if the form cannot be shown.
export function formFields({ properties = {}, required }: ElicitationSchema): FormField[] {
  const names = Object.keys(properties);
  if (names.length > MAX_FIELDS) throw new Error(`The form has ${names.length} fields, and at most ${MAX_FIELDS} can be shown`);
  const needed = new Set(required ?? []);
  return names.map((id) => {
    if (id === "" || id.length > MAX_ID) throw new Error(`The name of a field must have 1 to ${MAX_ID} characters`);
    const property = properties[id] as ElicitationPropertySchema & { title?: string | null; description?: string | null };
    const { title, description } = property;
    return {
      id,
      label: plainLine(title ?? "", MAX_LABEL) || plainLine(id, MAX_LABEL) || "Value",
      ...(description ? { description: plainText(description, MAX_DESCRIPTION) } : {}),
      required: needed.has(id),
      ...inputOf(id, property),
    } as FormField;
  });
}

// The properties of JSON Schema that a form knows. Types that are not known are refused rather than shown as something else.
function inputOf(id: string, property: ElicitationPropertySchema): object {
  switch (property.type) {
    case "string": {
      const text = property as Extract<ElicitationPropertySchema, { type: "string"; pattern?: unknown }>;
      const values = text.oneOf ?? text.enum?.map(titled);
      return values ? choice(id, values, text.default) : textInput(text);
    }
    case "number":
    case "integer": {
      const { type, minimum, maximum, default: value } = property as { type: string } & Partial<Record<string, number | null>>;
      return { type, ...present({ minimum, maximum, default: value }) };
    }
    case "boolean":
      return { type: "boolean", ...present({ default: (property as { default?: boolean | null }).default }) };
    case "array":
      return choices(id, property as MultiSelectPropertySchema);
    default:
      throw new Error(`The field ${JSON.stringify(plainLine(id, 60))} has a type that cannot be shown`);
  }
}

const FORMATS = ["email", "uri", "date", "date-time"];

function textInput({ minLength, maxLength, pattern, format, default: value }: Partial<Record<string, unknown>>): object {
  return {
    type: "text",
    ...present({ minLength, maxLength }),
    ...(typeof pattern === "string" && pattern.length <= MAX_PATTERN ? { pattern } : {}),
    ...(FORMATS.includes(String(format)) ? { format } : {}),
    ...(typeof value === "string" && value !== "" ? { default: plainText(value, MAX_DEFAULT) } : {}),
  };
}

function choice(id: string, values: EnumOption[], value: string | null | undefined): object {
  const offered = choicesOf(id, values);
  return { type: "choice", choices: offered, ...present({ default: offered.find((each) => each.id === value)?.id }) };
}

function choices(id: string, { items, minItems, maxItems, default: chosen }: MultiSelectPropertySchema): object {
  const { anyOf, enum: values } = items as { anyOf?: EnumOption[]; enum?: string[] };
  const offered = choicesOf(id, anyOf ?? values?.map(titled) ?? []);
  const selected = (chosen ?? []).filter((value) => offered.some((each) => each.id === value));
  return { type: "choices", choices: offered, ...present({ minItems, maxItems }), ...(selected.length > 0 ? { default: selected } : {}) };
}

const titled = (value: string): EnumOption => ({ const: value, title: value });

function choicesOf(id: string, values: EnumOption[]): FormChoice[] {
  const unique = [...new Map(values.map((value) => [value.const, value])).values()];
  if (unique.length === 0 || unique.length > MAX_CHOICES || unique.some((value) => value.const.length > MAX_LABEL))
    throw new Error(
      `The field ${JSON.stringify(plainLine(id, 60))} must have 1 to ${MAX_CHOICES} choices of at most ${MAX_LABEL} characters`,
    );
  return unique.map(({ const: value, title, description }) => ({
    id: value,
    name: plainLine(title, MAX_LABEL) || plainLine(value, MAX_LABEL) || "Empty",
    ...(description ? { description: plainLine(description, MAX_DESCRIPTION) } : {}),
  }));
}

// null means the same as nothing in the protocol.
const present = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
