import type { IncomingMessage } from "node:http";
import { readBounded } from "../io/read-bounded.ts";
import { badRequest } from "./errors.ts";

const MAX_JSON_BYTES = 16 * 1024 * 1024;
const MAX_TEXT = 512 * 1024;

// The body of a request, which must be a JSON object.
export async function readJson(request: IncomingMessage, maxBytes = MAX_JSON_BYTES): Promise<Record<string, unknown>> {
  const bytes = await readBounded(request, { maxBytes, tooLarge: `The body is larger than ${maxBytes} bytes` });
  let body: unknown;
  try {
    body = JSON.parse(bytes.toString("utf8"));
  } catch {
    throw badRequest("The body is not JSON");
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw badRequest("The body is not a JSON object");
  return body as Record<string, unknown>;
}

// A required text field of a body or a message.
export function requiredText(value: unknown, name: string): string {
  if (typeof value !== "string" || value === "" || value.length > MAX_TEXT)
    throw badRequest(`${name} must be a string of 1 to ${MAX_TEXT} characters`);
  return value;
}

export const isStringArray = (value: unknown): value is string[] => Array.isArray(value) && value.every((item) => typeof item === "string");

export const isStringRecord = (value: unknown): value is Record<string, string> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every((item) => typeof item === "string");
