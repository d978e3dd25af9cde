import type { FormField, FormValues } from "@berth/contract/questions.ts";

// The values of a form whose controls are named by the index of their field. A field without an answer is left out.
export function readForm(fields: FormField[], data: FormData): FormValues {
  const values = fields.flatMap((field, index): [string, FormValues[string]][] => {
    const value = valueOf(field, data.getAll(String(index)).map(String));
    return value === undefined ? [] : [[field.id, value]];
  });
  return Object.fromEntries(values);
}

// The browser's own controls cannot check how many of the choices are ticked.
export function choicesFault(fields: FormField[], values: FormValues): string | null {
  for (const field of fields) {
    if (field.type !== "choices") continue;
    const value = values[field.id];
    const count = Array.isArray(value) ? value.length : 0;
    const least = Math.max(field.required ? 1 : 0, count > 0 || field.required ? (field.minItems ?? 0) : 0);
    if (count < least) return `Choose at least ${least} of “${field.label}”.`;
    if (count > (field.maxItems ?? Infinity)) return `Choose at most ${field.maxItems} of “${field.label}”.`;
  }
  return null;
}

function valueOf(field: FormField, entered: string[]): FormValues[string] | undefined {
  const [text = ""] = entered;
  switch (field.type) {
    case "boolean":
      return entered.length > 0;
    case "choices":
      return entered.length > 0 ? entered : undefined;
    case "choice":
      return text === "" ? undefined : text.slice(1);
    case "number":
    case "integer":
      return text === "" ? undefined : Number(text);
    case "text":
      if (text === "") return undefined;
      // The browser enters local time without a zone, and sends line ends as \r\n.
      return field.format === "date-time" ? new Date(text).toISOString() : text.replaceAll("\r\n", "\n");
  }
}
