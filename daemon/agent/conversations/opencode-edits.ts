import type { ToolCallUpdate } from "@agentclientprotocol/sdk";

// opencode reports the edits of its tool `edit` as diffs. For `write`, and for `apply_patch`, which it gives to OpenAI's
// models, the edit is only in the raw result, in opencode's own format.
export interface FileEdit {
  path: string;
  // null for a new file.
  oldText: string | null;
  newText: string;
}

export function opencodeEdits({ status, rawInput, rawOutput }: ToolCallUpdate): FileEdit[] {
  if (status !== "completed") return [];
  const metadata = fieldOf(rawOutput, "metadata");
  const files = fieldOf(metadata, "files");
  if (Array.isArray(files)) return files.flatMap(patchedFile);
  const [path, newText] = [fieldOf(rawInput, "filePath"), fieldOf(rawInput, "content")];
  // For an overwritten file, the result does not contain the old text.
  const isNew = fieldOf(metadata, "exists") === false;
  return isNew && typeof path === "string" && typeof newText === "string" ? [{ path, oldText: null, newText }] : [];
}

function patchedFile(file: unknown): FileEdit[] {
  const path = fieldOf(file, "movePath") ?? fieldOf(file, "filePath");
  const patch = fieldOf(file, "patch");
  if (typeof path !== "string" || typeof patch !== "string") return [];
  const { oldText, newText } = sidesOf(patch);
  return [{ path, oldText: fieldOf(file, "type") === "add" ? null : oldText, newText }];
}

// The text before and after a unified diff. Lines that the diff leaves out are missing from both.
function sidesOf(patch: string): { oldText: string; newText: string } {
  const lines = patch.split("\n");
  const changes = lines.slice(lines.findIndex((line) => line.startsWith("@@"))).filter((line) => /^[ +-]/.test(line));
  const side = (mark: "+" | "-") =>
    changes.filter((line) => line.startsWith(" ") || line.startsWith(mark)).map((line) => `${line.slice(1)}\n`);
  return { oldText: side("-").join(""), newText: side("+").join("") };
}

export const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
