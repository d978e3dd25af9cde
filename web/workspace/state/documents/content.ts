import { decodeText, type Encoding } from "../../text/encoding.ts";
import { extensionOf } from "../../text/paths.ts";

// How a file is shown.
export type Content = { kind: "text"; text: string; encoding: Encoding } | { kind: "image" } | { kind: "binary" } | { kind: "large" };

export const MAX_TEXT_BYTES = 20 * 1024 * 1024;
const imageExtensions = new Set(["png", "jpg", "jpeg", "gif", "webp", "avif", "bmp", "ico"]);

export function contentOf(path: string, bytes: Uint8Array | null): Content {
  if (isImage(path)) return { kind: "image" };
  if (bytes === null) return { kind: "large" };
  const decoded = decodeText(bytes);
  return decoded === null ? { kind: "binary" } : { kind: "text", ...decoded };
}

export const isImage = (path: string): boolean => imageExtensions.has(extensionOf(path));
