import { extensionOf } from "../../text/paths.ts";

// How a file is shown.
export type Content = { kind: "text"; text: string } | { kind: "image" } | { kind: "binary" } | { kind: "large" };

export const MAX_TEXT_BYTES = 20 * 1024 * 1024;
const imageExtensions = new Set(["png", "jpg", "jpeg", "gif", "webp", "avif", "bmp", "ico"]);

export function contentOf(path: string, bytes: Uint8Array | null): Content {
  if (isImage(path)) return { kind: "image" };
  if (bytes === null) return { kind: "large" };
  const text = decodeText(bytes);
  return text === null ? { kind: "binary" } : { kind: "text", text };
}

export const isImage = (path: string): boolean => imageExtensions.has(extensionOf(path));

// Returns null unless encoding the text again gives the same bytes, so that opening and saving a file never changes it.
export function decodeText(bytes: Uint8Array): string | null {
  if (bytes.subarray(0, 8192).includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
