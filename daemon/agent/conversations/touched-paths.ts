import type { ToolCallUpdate } from "@agentclientprotocol/sdk";

// The files that a tool call says it works on. Agents say it in several places. What they say about the contents is not used: the
// daemon compares the files themselves (../turn-changes).
export function touchedPaths({ locations, content, rawInput, rawOutput }: ToolCallUpdate): string[] {
  // The result of opencode's tool `apply_patch`, and its question for permission.
  const patched = [fieldOf(fieldOf(rawOutput, "metadata"), "files"), fieldOf(rawInput, "files")].flatMap((files) =>
    Array.isArray(files) ? files : [],
  );
  const paths: unknown[] = [
    ...(locations ?? []).map(({ path }) => path),
    ...(content ?? []).map((part) => (part.type === "diff" ? part.path : undefined)),
    // opencode's tools `write` and `edit`, and those of goose.
    fieldOf(rawInput, "filePath"),
    ...(["content", "before"].some((name) => typeof fieldOf(rawInput, name) === "string") ? [fieldOf(rawInput, "path")] : []),
    ...patched.map((file) => fieldOf(file, "movePath") ?? fieldOf(file, "filePath")),
  ];
  return [...new Set(paths.filter((path) => typeof path === "string"))];
}

export const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
