import { runInNewContext } from "node:vm";
import type { FormField, FormValues } from "@berth/contract/questions.ts";
import { badRequest } from "../../http/errors.ts";

const MAX_TEXT = 64 * 1024;
const PATTERN_TIMEOUT_MS = 100;

const FORMATS = {
  email: /^[^@\s]+@[^@\s]+$/,
  uri: /^[a-z][a-z0-9+.-]*:\S+$/i,
  date: /^\d{4}-\d\d-\d\d$/,
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/i,
};

// The values of a filled-in form, without fields that it does not have. Throws a sentence for the person who has filled it in.
export function checkValues(fields: FormField[], values: Record<string, unknown>): FormValues {
  const checked: FormValues = Object.create(null) as FormValues;
  for (const field of fields) {
    const value = Object.hasOwn(values, field.id) ? values[field.id] : undefined;
    if (value === undefined || value === null || value === "") {
      if (field.required) throw badRequest(`“${field.label}” is required`);
      // An empty text is an answer too, unless it must be longer.
      if (value === "" && field.type === "text" && !field.minLength && !field.pattern && !field.format) checked[field.id] = "";
      continue;
    }
    const fault = faultOf(field, value);
    if (fault) throw badRequest(`“${field.label}” ${fault}`);
    checked[field.id] = value as FormValues[string];
  }
  return checked;
}

function faultOf(field: FormField, value: unknown): string | null {
  switch (field.type) {
    case "text":
      return typeof value === "string" ? textFault(field, value) : "must be a text";
    case "number":
    case "integer": {
      if (typeof value !== "number" || !Number.isFinite(value)) return "must be a number";
      if (field.type === "integer" && !Number.isSafeInteger(value)) return "must be a whole number";
      const { minimum = -Infinity, maximum = Infinity } = field;
      if (value < minimum) return `must be at least ${minimum}`;
      return value > maximum ? `must be at most ${maximum}` : null;
    }
    case "boolean":
      return typeof value === "boolean" ? null : "must be yes or no";
    case "choice":
      return field.choices.some(({ id }) => id === value) ? null : "must be one of the choices";
    case "choices": {
      const isChoice = (each: unknown) => field.choices.some(({ id }) => id === each);
      if (!Array.isArray(value) || !value.every(isChoice) || new Set(value).size < value.length) return "must be some of the choices";
      const { minItems = 0, maxItems = Infinity } = field;
      if (value.length < minItems) return `needs at least ${minItems} of the choices`;
      return value.length > maxItems ? `must have at most ${maxItems} of the choices` : null;
    }
  }
}

type TextField = Extract<FormField, { type: "text" }>;

function textFault({ minLength = 0, maxLength = MAX_TEXT, pattern, format }: TextField, value: string): string | null {
  // Characters, as JSON Schema counts them.
  const length = value.length > MAX_TEXT ? value.length : Array.from(value).length;
  if (length < minLength) return `must have at least ${minLength} characters`;
  if (length > Math.min(maxLength, MAX_TEXT)) return `must have at most ${Math.min(maxLength, MAX_TEXT)} characters`;
  if (format && !FORMATS[format].test(value)) return `must be ${NAMES[format]}`;
  return pattern !== undefined && !matches(pattern, value) ? "does not have the form that the agent asks for" : null;
}

const NAMES = { email: "an e-mail address", uri: "an address (URL)", date: "a date", "date-time": "a date with a time" };

// The pattern is the agent's, and some patterns take years.
function matches(pattern: string, value: string): boolean {
  try {
    return runInNewContext("new RegExp(pattern, 'u').test(value)", { pattern, value }, { timeout: PATTERN_TIMEOUT_MS }) === true;
  } catch {
    // It is not a pattern of JavaScript or takes too long, so the agent has to check the value itself.
    return true;
  }
}
