import { AppError, ERRORS, isAppError } from "@berth/contract";

// Results of tools, for models: bounded, and without characters that control a terminal, because clients print them.

export interface ToolResult {
  content: { type: "text"; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: true;
}

// About 8,000 tokens. Clients warn about results that are larger, or cut them without a word.
export const MAX_CHARS = 30_000;
// Of the whole result, whatever a sandbox says.
const MAX_RESULT_CHARS = 200_000;

// The text and, for programs, the same as data.
export const textResult = (text: string, data: Record<string, unknown>): ToolResult => bounded(visible(text), data);

export const jsonResult = (data: object): ToolResult => bounded(visible(JSON.stringify(data)), data as Record<string, unknown>);

function bounded(text: string, data: Record<string, unknown>): ToolResult {
  const isTooLarge = text.length > MAX_RESULT_CHARS || JSON.stringify(data).length > MAX_RESULT_CHARS;
  if (isTooLarge) throw new AppError("too_large", { message: "The result is too large; ask for less at once" });
  return { content: [{ type: "text", text }], structuredContent: data };
}

export function errorResult(thrown: unknown): ToolResult {
  const error = isAppError(thrown) ? thrown : new AppError("internal");
  const { code, message, details, retryAfterSeconds } = error;
  const { retryable } = ERRORS[code];
  const faults = details?.map((fault) => `${fault.field}: ${fault.message}`).join("; ");
  const text = visible([`${code}: ${message}`, ...(faults ? [faults] : [])].join(". "));
  const described = {
    code,
    message: visible(message),
    retryable,
    ...(details && { details }),
    ...(retryAfterSeconds && { retryAfterSeconds }),
  };
  return { isError: true, content: [{ type: "text", text }], structuredContent: { error: described } };
}

// Colours and movements of the cursor mean nothing to a model.
// oxlint-disable-next-line no-control-regex -- it looks for them
const ESCAPE_SEQUENCE = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]{0,4096}(?:\u0007|\u001b\\)|[ -/]*[0-~])/g;
const CONTROL = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

// Output of a program as a reader would see it: without escape sequences, and other control characters replaced.
export const plainOutput = (text: string): string => visible(text.replaceAll(ESCAPE_SEQUENCE, "").replaceAll("\r\n", "\n"));

const visible = (text: string): string => text.replaceAll(CONTROL, "\uFFFD").toWellFormed();

// Collects text of any length, and keeps its beginning and its end.
export interface BoundedText {
  add(text: string): void;
  // `leftOut` is the number of characters between the two.
  read(): { head: string; tail: string; leftOut: number };
}

export function createBoundedText(maxChars: number): BoundedText {
  const maxHead = Math.floor(maxChars / 3);
  const maxTail = maxChars - maxHead;
  let head = "";
  let tail = "";
  let leftOut = 0;
  return {
    add(text) {
      const forHead = text.slice(0, maxHead - head.length);
      head += forHead;
      tail += text.slice(forHead.length);
      if (tail.length <= 2 * maxTail) return;
      leftOut += tail.length - maxTail;
      tail = tail.slice(-maxTail);
    },
    read() {
      const extra = Math.max(0, tail.length - maxTail);
      return { head, tail: tail.slice(extra), leftOut: leftOut + extra };
    },
  };
}

export function joinBounded(text: BoundedText, howToReadAll: string): string {
  const { head, tail, leftOut } = text.read();
  const [before, after] = [plainOutput(head), plainOutput(tail)];
  return leftOut === 0 ? before + after : `${before}\n[… ${leftOut} characters left out. ${howToReadAll} …]\n${after}`;
}
