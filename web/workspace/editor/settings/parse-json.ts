import { MAX_SETTINGS_BYTES } from "@berth/contract/workspace/workspace.ts";
import { problemsOf, type SettingsValues } from "../../state/settings/values.ts";

export interface JsonProblem {
  message: string;
  // Where in the text the problem is.
  from: number;
  to: number;
}

export interface ParsedJson {
  // Null if the text is not a JSON object, and nothing can be applied.
  values: SettingsValues | null;
  problems: JsonProblem[];
}

// Room for the version and other parts of the request.
const MAX_TEXT_BYTES = MAX_SETTINGS_BYTES - 1024;

export function parseSettingsJson(text: string): ParsedJson {
  const everywhere = { from: 0, to: text.length };
  if (text.trim() === "") return { values: {}, problems: [] };
  if (new TextEncoder().encode(text).length > MAX_TEXT_BYTES)
    return { values: null, problems: [{ ...everywhere, message: "The settings are too long. They may have 31 KB." }] };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return { values: null, problems: [{ ...everywhere, message: 'The settings must be an object: { "name": value }.' }] };
    const values = value as SettingsValues;
    return { values, problems: problemsOf(values).map(({ key, message }) => ({ ...locate(text, key), message })) };
  } catch (error) {
    return { values: null, problems: [{ ...placeOf(text, error), message: describe(text, error) }] };
  }
}

export const formatSettingsJson = (values: SettingsValues): string => `${JSON.stringify(values, null, 2)}\n`;

function locate(text: string, key: string): { from: number; to: number } {
  const quoted = JSON.stringify(key);
  const from = Math.max(0, text.indexOf(quoted));
  return { from, to: Math.min(text.length, from + quoted.length) };
}

// Chromium names the position of a syntax error; other browsers name line and column.
function placeOf(text: string, error: unknown): { from: number; to: number } {
  const message = (error as Error).message;
  const position = /position (\d+)/.exec(message)?.[1];
  const [, line, column] = /line (\d+) column (\d+)/.exec(message) ?? [];
  const lines = text.split("\n");
  const fromLine = line === undefined ? text.trimEnd().length : lines.slice(0, Number(line) - 1).join("\n").length + Number(column);
  const from = Math.min(position === undefined ? fromLine : Number(position), Math.max(0, text.length - 1));
  return { from, to: Math.min(text.length, from + 1) };
}

function describe(text: string, error: unknown): string {
  const { from } = placeOf(text, error);
  const before = text.slice(0, from).split("\n");
  const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
  return `This is not valid JSON (${place}). Check for a missing or additional comma, quote or bracket. Comments are not allowed.`;
}
