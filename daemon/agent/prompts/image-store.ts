import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { badRequest, notFound } from "../../http/errors.ts";

// The images of prompts, on disk. A prompt refers to them by id, so that a retry can send them again.
export interface ImageStore {
  add(bytes: Buffer): Promise<string>;
  read(id: string): Promise<{ bytes: Buffer; mimeType: string }>;
}

export const MAX_IMAGE_BYTES = 3 * 1024 * 1024;
const MAX_IMAGES = 100;

export function openImageStore(folder: string): ImageStore {
  return {
    async add(bytes) {
      if (imageType(bytes) === null) throw badRequest("The image must be a PNG, JPEG, GIF or WebP file");
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const known = (await readdir(folder)).filter((name) => ID.test(name)).toSorted();
      for (const old of known.slice(0, Math.max(0, known.length - MAX_IMAGES + 1))) await rm(join(folder, old), { force: true });
      // Names sort by age.
      const id = `img_${Date.now().toString(16).padStart(12, "0")}${randomBytes(4).toString("hex")}`;
      await writeFile(join(folder, id), bytes, { mode: 0o600 });
      return id;
    },
    async read(id) {
      const bytes = ID.test(id) ? await readFile(join(folder, id)).catch(() => null) : null;
      const mimeType = bytes && imageType(bytes);
      if (!bytes || !mimeType) throw notFound(`This image no longer exists. The last ${MAX_IMAGES} are kept`);
      return { bytes, mimeType };
    },
  };
}

const ID = /^img_[0-9a-f]{20}$/;

// Decides by the first bytes, because a browser's claim about the type may be wrong.
function imageType(bytes: Buffer): string | null {
  const start = bytes.subarray(0, 12).toString("latin1");
  if (start.startsWith("\x89PNG\r\n")) return "image/png";
  if (start.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (start.startsWith("GIF8")) return "image/gif";
  return start.startsWith("RIFF") && start.endsWith("WEBP") ? "image/webp" : null;
}
