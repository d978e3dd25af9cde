import { readdirSync, readFileSync, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

// Serves the files that Vite builds for the browser app. They are listed once and kept in memory, so a request path never
// reaches the file system. 0025-own-static-files-and-docs-page.md explains why this is not a library.
export interface AppFiles {
  // The HTML page; null if the app is not built.
  page(): string | null;
  // Sends the file at `path`, relative to /workspace/. Returns false if there is none.
  send(path: string, request: IncomingMessage, response: ServerResponse): Promise<boolean>;
}

// The pages of partners load this one.
const EMBED_SCRIPT = "embed.js";

interface AppFile {
  type: string;
  bytes: Buffer;
  compressed: Map<Encoding, Promise<Buffer>>;
}

export function createAppFiles(folder: string): AppFiles {
  let files = new Map<string, AppFile>();
  let builtAt = 0;

  // Picks up a new build during development.
  function currentFiles(): Map<string, AppFile> {
    const modifiedAt = statSync(join(folder, "index.html"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (modifiedAt !== builtAt) {
      files = modifiedAt === 0 ? new Map() : readAll(folder);
      builtAt = modifiedAt;
    }
    return files;
  }

  return {
    page: () => currentFiles().get("index.html")?.bytes.toString("utf8") ?? null,
    async send(path, request, response) {
      const file = path.endsWith(".html") ? undefined : (files.get(path) ?? currentFiles().get(path));
      if (!file) return false;
      const encoding = file.bytes.length > 1024 && isText(file.type) ? chooseEncoding(request.headers["accept-encoding"]) : null;
      const body = encoding === null ? file.bytes : await compress(file, encoding);
      response.writeHead(200, {
        "content-type": file.type,
        "content-length": body.length,
        // The names of assets contain a content hash.
        "cache-control": path.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache",
        ...(path === EMBED_SCRIPT
          ? { "cross-origin-resource-policy": "cross-origin", "access-control-allow-origin": "*" }
          : { "cross-origin-resource-policy": "same-origin" }),
        "x-content-type-options": "nosniff",
        vary: "accept-encoding",
        ...(encoding !== null && { "content-encoding": encoding }),
      });
      response.end(request.method === "HEAD" ? undefined : body);
      return true;
    },
  };
}

function readAll(folder: string): Map<string, AppFile> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && !entry.name.startsWith("."),
  );
  return new Map(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const type = TYPES[extname(entry.name)] ?? "application/octet-stream";
      return [relative(folder, path).replaceAll(sep, "/"), { type, bytes: readFileSync(path), compressed: new Map() }];
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

function compress(file: AppFile, encoding: Encoding): Promise<Buffer> {
  let compressed = file.compressed.get(encoding);
  if (!compressed) file.compressed.set(encoding, (compressed = compressors[encoding](file.bytes)));
  return compressed;
}
