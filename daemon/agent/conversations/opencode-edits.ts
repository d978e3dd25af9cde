import type { ToolCallUpdate } from "@agentclientprotocol/sdk";

// opencode reports the edits of its tool `edit` as diffs. For its other two tools (`write`, and `apply_patch`, which OpenAI's
// models get instead) the edit is only in the raw result, in a form of its own.
export interface FileEdit {
  path: string;
  // null: the file is new.
  oldText: string | null;
  newText: string;
}

export function opencodeEdits({ status, rawInput, rawOutput }: ToolCallUpdate): FileEdit[] {
  if (status !== "completed") return [];
  const metadata = fieldOf(rawOutput, "metadata");
  const files = fieldOf(metadata, "files");
  if (Array.isArray(files)) return files.flatMap(patchedFile);
  const [path, newText] = [fieldOf(rawInput, "filePath"), fieldOf(rawInput, "content")];
  // The text before an overwrite is not in the result.
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

// The lines of a unified diff, before and after; those that it leaves out are the same in both.
function sidesOf(patch: string): { oldText: string; newText: string } {
  const lines = patch.split("\n");
  const changes = lines.slice(lines.findIndex((line) => line.startsWith("@@"))).filter((line) => /^[ +-]/.test(line));
  const side = (mark: "+" | "-") =>
    changes.filter((line) => line.startsWith(" ") || line.startsWith(mark)).map((line) => `${line.slice(1)}\n`);
  return { oldText: side("-").join(""), newText: side("+").join("") };
}

export const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
