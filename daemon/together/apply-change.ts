import type { ChangeJson } from "@berth/contract/workspace/together.ts";

// Applies a change to a text; null if the change is not one of this text.
export function applyChange(text: string, changes: unknown): string | null {
  if (!Array.isArray(changes)) return null;
  let at = 0;
  const parts: string[] = [];
  for (const part of changes as unknown[]) {
    if (isLength(part)) {
      parts.push(text.slice(at, at + part));
      at += part;
    } else if (isReplacement(part)) {
      const [deleted, ...lines] = part;
      parts.push(lines.join("\n"));
      at += deleted;
    } else return null;
    if (at > text.length) return null;
  }
  return at === text.length ? parts.join("") : null;
}

type Replacement = Exclude<ChangeJson[number], number>;

const isLength = (part: unknown): part is number => Number.isSafeInteger(part) && (part as number) >= 0;

const isReplacement = (part: unknown): part is Replacement =>
  Array.isArray(part) && isLength(part[0]) && part.slice(1).every((line) => typeof line === "string" && !line.includes("\n"));
