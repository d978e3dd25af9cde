import { extensionOf } from "../text/paths.ts";

export type TextView = "table" | "picture";

// How a text can be shown other than as a text.
export function textViewOf(path: string): TextView | null {
  const extension = extensionOf(path);
  if (extension === "svg") return "picture";
  return extension === "csv" || extension === "tsv" ? "table" : null;
}
