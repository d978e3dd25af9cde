import { extensionOf } from "../../text/paths.ts";

// What a file is shown as.
export type Content = { kind: "text"; text: string } | { kind: "image" } | { kind: "binary" } | { kind: "large" };

export const MAX_TEXT_BYTES = 20 * 1024 * 1024;
const images = new Set(["png", "jpg", "jpeg", "gif", "webp", "avif", "bmp", "ico"]);

export function contentOf(path: string, bytes: Uint8Array | null): Content {
  if (images.has(extensionOf(path))) return { kind: "image" };
  if (bytes === null) return { kind: "large" };
  const text = decodeText(bytes);
  return text === null ? { kind: "binary" } : { kind: "text", text };
}

export const isImage = (path: string): boolean => images.has(extensionOf(path));

// Text only when encoding it again gives the same bytes: a file that is merely looked at and saved stays as it was.
export function decodeText(bytes: Uint8Array): string | null {
  if (bytes.subarray(0, 8192).includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
