import type { Api } from "../../connection/api.ts";
import { decodeText } from "../../text/encoding.ts";
import { MAX_TEXT_BYTES } from "./content.ts";
import type { Documents } from "./documents.ts";

// The text of a file, as its editor has it or as it is on disk; null if there is none.
export async function readText({ api, documents }: { api: Api; documents: Documents }, path: string): Promise<string | null> {
  if (documents.documentAt(path)) return documents.textOf(path);
  const { bytes } = await api.readFile(path, MAX_TEXT_BYTES).catch(() => ({ bytes: null }));
  return bytes && (decodeText(bytes)?.text ?? null);
}
