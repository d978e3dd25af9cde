import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

// The files of a folder that set-up builds for browsers. They are listed once and kept in memory, so a request path never reaches the
// file system. 0025-own-static-files-and-docs-page.md explains why this is not a library.
export interface BuiltFiles {
  // The text of a file; null if there is none.
  text(path: string): string | null;
  // A file as a response, compressed if the browser accepts it; null if there is none.
  respond(path: string, acceptEncoding: string | undefined): Promise<BuiltFile | null>;
}

export interface BuiltFile {
  headers: Record<string, string | number>;
  body: Buffer;
}

// A file in memory, with what it is when compressed.
export interface StoredFile {
  type: string;
  bytes: Buffer;
  compressed: Map<Encoding, Promise<Buffer>>;
}

export const storeFile = (type: string, bytes: Buffer): StoredFile => ({ type, bytes, compressed: new Map() });

export function createBuiltFiles(folder: string): BuiltFiles {
  let files = new Map<string, StoredFile>();
  let builtAt = 0;

  // Picks up a new build during development.
  function currentFiles(): Map<string, StoredFile> {
    const modifiedAt = statSync(join(folder, "index.html"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (modifiedAt !== builtAt) {
      files = modifiedAt === 0 ? new Map() : readAll(folder);
      builtAt = modifiedAt;
    }
    return files;
  }

  return {
    text: (path) => currentFiles().get(path)?.bytes.toString("utf8") ?? null,
    async respond(path, acceptEncoding) {
      const isPage = path.endsWith(".html");
      const file = (isPage ? undefined : files.get(path)) ?? currentFiles().get(path);
      if (!file) return null;
      // The names of assets contain a content hash.
      return respondWith(file, acceptEncoding, path.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache");
    },
  };
}

export async function respondWith(file: StoredFile, acceptEncoding: string | undefined, caching: string): Promise<BuiltFile> {
  const encoding = file.bytes.length > 1024 && isText(file.type) ? chooseEncoding(acceptEncoding) : null;
  const body = encoding === null ? file.bytes : await compress(file, encoding);
  const headers = {
    "content-type": file.type,
    "content-length": body.length,
    "cache-control": caching,
    ...(caching === "no-cache" && { etag: `"${createHash("sha256").update(body).digest("base64url")}"` }),
    "x-content-type-options": "nosniff",
    vary: "accept-encoding",
    ...(encoding !== null && { "content-encoding": encoding }),
  };
  return { headers, body };
}

function readAll(folder: string): Map<string, StoredFile> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && !entry.name.startsWith("."),
  );
  return new Map(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const type = TYPES[extname(entry.name)] ?? "application/octet-stream";
      return [relative(folder, path).replaceAll(sep, "/"), storeFile(type, readFileSync(path))];
    }),
  );
}

const TYPES: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".map": "application/json; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
};

const isText = (type: string) => /^text\/|json|svg|wasm/.test(type);

function chooseEncoding(accepted: string | undefined): Encoding | null {
  const offers = (accepted ?? "").split(",").map((offer) => offer.trim().toLowerCase());
  return offers.includes("br") ? "br" : offers.includes("gzip") ? "gzip" : null;
}

const compressors = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
};

type Encoding = keyof typeof compressors;

function compress(file: StoredFile, encoding: Encoding): Promise<Buffer> {
  let compressed = file.compressed.get(encoding);
  if (!compressed) file.compressed.set(encoding, (compressed = compressors[encoding](file.bytes)));
  return compressed;
}
