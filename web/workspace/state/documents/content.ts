import { decodeText, type Encoding } from "../../text/encoding.ts";
import { extensionOf } from "../../text/paths.ts";

// Types that the browser itself shows or plays.
export type Medium = "image" | "audio" | "video" | "pdf";

// How a file is shown.
export type Content = { kind: "text"; text: string; encoding: Encoding } | { kind: Medium } | { kind: "binary" } | { kind: "large" };

export const MAX_TEXT_BYTES = 20 * 1024 * 1024;
const extensions: [Medium, string][] = [
  ["image", "png jpg jpeg gif webp avif bmp ico"],
  ["audio", "mp3 wav ogg oga flac m4a aac opus"],
  ["video", "mp4 webm mov m4v ogv"],
  ["pdf", "pdf"],
];
const media = new Map(extensions.flatMap(([medium, list]) => list.split(" ").map((extension) => [extension, medium] as const)));

export function contentOf(path: string, bytes: Uint8Array | null): Content {
  const medium = mediumOf(path);
  if (medium !== null) return { kind: medium };
  if (bytes === null) return { kind: "large" };
  const decoded = decodeText(bytes);
  return decoded === null ? { kind: "binary" } : { kind: "text", ...decoded };
}

export const mediumOf = (path: string): Medium | null => media.get(extensionOf(path)) ?? null;

export const isImage = (path: string): boolean => mediumOf(path) === "image";
