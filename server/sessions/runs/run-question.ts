import type { Run } from "@berth/contract/daemon/runs.ts";
import type { FormChoice, FormField } from "@berth/contract/questions.ts";
import { plainLines } from "../../plain-text.ts";
import { idOf, listOf, nameOf, objectOf, oneOf } from "../report-fields.ts";

type Question = Run["waitsFor"][number];
type Fields = Record<string, unknown>;

const TOOLS = ["read", "edit", "delete", "move", "search", "shell", "fetch", "other", "*"] as const;
const ANSWERS = ["allow_once", "allow_always", "reject_once", "reject_always"] as const;
const FIELD_TYPES = ["text", "number", "integer", "boolean", "choice", "choices"] as const;
const MAX_LIST = 20;
const MAX_TITLE = 300;
const MAX_INPUT = 4096;
const MAX_URL = 2000;

// A question of a run, as its daemon reports it. null if it is none.
export function questionOf(question: Fields): Question | null {
  const itemId = idOf(question.itemId);
  if (itemId === null) return null;
  const head = { itemId, title: nameOf(question.title, MAX_TITLE) ?? "" };
  if (question.kind === "form") return { ...head, kind: "form", fields: listOf(question.fields, MAX_LIST, fieldOf) };
  if (question.kind === "url") return isAddress(question.url) ? { ...head, kind: "url", url: question.url } : null;
  const tool = objectOf(question.tool);
  if (question.kind !== "permission" || tool === null) return null;
  return {
    ...head,
    kind: "permission",
    tool: {
      kind: oneOf(tool.kind, TOOLS) ?? "other",
      title: nameOf(tool.title, MAX_TITLE) ?? "",
      ...(typeof tool.input === "string" && { input: plainLines(tool.input, MAX_INPUT) }),
    },
    options: listOf(question.options, MAX_LIST, (option) => {
      const [id, kind] = [idOf(option.id), oneOf(option.kind, ANSWERS)];
      return id !== null && kind !== null ? { id, name: nameOf(option.name) ?? kind, kind } : null;
    }),
  };
}

const isAddress = (url: unknown): url is string =>
  typeof url === "string" && url.length <= MAX_URL && /^https?:\/\/[\x21-\x7e]+$/.test(url) && URL.canParse(url);

const NUMBERS = ["minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"] as const;

// A person or a program fills it in, and the daemon checks the values. Its pattern stays there.
function fieldOf(field: Fields): FormField | null {
  const [id, type] = [idOf(field.id), oneOf(field.type, FIELD_TYPES)];
  if (id === null || type === null) return null;
  const limits = NUMBERS.flatMap((name) => (Number.isFinite(field[name]) ? [[name, field[name]]] : []));
  const description = nameOf(field.description, MAX_TITLE);
  return {
    id,
    type,
    label: nameOf(field.label) ?? id,
    required: field.required === true,
    ...(description !== null && { description }),
    ...Object.fromEntries(limits),
    ...(type.startsWith("choice") && { choices: listOf(field.choices, MAX_LIST, choiceOf) }),
    ...defaultOf(type, field.default),
  } as FormField;
}

function choiceOf(choice: Fields): FormChoice | null {
  const id = idOf(choice.id);
  const description = nameOf(choice.description, MAX_TITLE);
  return id === null ? null : { id, name: nameOf(choice.name) ?? id, ...(description !== null && { description }) };
}

// Nothing if it does not fit the type.
function defaultOf(type: FormField["type"], value: unknown): { default?: unknown } {
  if (type === "choices") {
    const ids = Array.isArray(value) ? value.slice(0, MAX_LIST).map(idOf) : [];
    return ids.length > 0 && ids.every((id) => id !== null) ? { default: ids } : {};
  }
  if (type === "text" || type === "choice") return typeof value === "string" ? { default: plainLines(value, MAX_TITLE) } : {};
  const fits = type === "boolean" ? typeof value === "boolean" : Number.isFinite(value);
  return fits ? { default: value } : {};
}
