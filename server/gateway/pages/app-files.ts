import { readdirSync, readFileSync, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

// The browser app's own files, as Vite has built them. All are known by name and held in memory, so that no request can
// ask for any other file.
export interface AppFiles {
  // The page; null when the app is not built.
  page(): string | null;
  // Sends the file at `path` (relative to /workspace/) and says whether there is one.
  send(path: string, request: IncomingMessage, response: ServerResponse): Promise<boolean>;
}

interface File {
  type: string;
  plain: Buffer;
  packed: Map<"br" | "gzip", Promise<Buffer>>;
}

export function createAppFiles(folder: string): AppFiles {
  let files = new Map<string, File>();
  let builtAt = 0;

  // A new build during development is picked up by itself.
  function current(): Map<string, File> {
    const stamp = statSync(join(folder, "index.html"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (stamp !== builtAt) {
      files = stamp === 0 ? new Map() : readAll(folder);
      builtAt = stamp;
    }
    return files;
  }

  return {
    page: () => current().get("index.html")?.plain.toString("utf8") ?? null,
    async send(path, request, response) {
      const file = path === "index.html" ? undefined : (files.get(path) ?? current().get(path));
      if (!file) return false;
      const encoding = file.plain.length > 1024 && isText(file.type) ? chooseEncoding(request.headers["accept-encoding"]) : null;
      const body = encoding === null ? file.plain : await pack(file, encoding);
      response.writeHead(200, {
        "content-type": file.type,
        "content-length": body.length,
        // Vite puts a hash of the content into the names of assets.
        "cache-control": path.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache",
        "cross-origin-resource-policy": "same-origin",
        "x-content-type-options": "nosniff",
        vary: "accept-encoding",
        ...(encoding !== null && { "content-encoding": encoding }),
      });
      response.end(request.method === "HEAD" ? undefined : body);
      return true;
    },
  };
}

function readAll(folder: string): Map<string, File> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && !entry.name.startsWith("."),
  );
  return new Map(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const type = TYPES[extname(entry.name)] ?? "application/octet-stream";
      return [relative(folder, path).replaceAll(sep, "/"), { type, plain: readFileSync(path), packed: new Map() }];
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

function chooseEncoding(accepted: string | undefined): "br" | "gzip" | null {
  const offers = (accepted ?? "").split(",").map((offer) => offer.trim().toLowerCase());
  return offers.includes("br") ? "br" : offers.includes("gzip") ? "gzip" : null;
}

const packers = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
};

function pack(file: File, encoding: "br" | "gzip"): Promise<Buffer> {
  let packed = file.packed.get(encoding);
  if (!packed) file.packed.set(encoding, (packed = packers[encoding](file.plain)));
  return packed;
}
