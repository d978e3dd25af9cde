import type { IncomingMessage, ServerResponse } from "node:http";
import { createBuiltFiles } from "../../built-files.ts";

// Serves the files that Vite builds for the browser app.
export interface AppFiles {
  // The HTML page; null if the app is not built.
  page(): string | null;
  // Sends the file at `path`, relative to /workspace/. Returns false if there is none.
  send(path: string, request: IncomingMessage, response: ServerResponse): Promise<boolean>;
}

// The pages of partners load this one.
const EMBED_SCRIPT = "embed.js";

export function createAppFiles(folder: string): AppFiles {
  const files = createBuiltFiles(folder);
  return {
    page: () => files.text("index.html"),
    async send(path, request, response) {
      const file = path.endsWith(".html") ? null : await files.respond(path, request.headers["accept-encoding"]);
      if (!file) return false;
      response.writeHead(200, {
        ...file.headers,
        ...(path === EMBED_SCRIPT
          ? { "cross-origin-resource-policy": "cross-origin", "access-control-allow-origin": "*" }
          : { "cross-origin-resource-policy": "same-origin" }),
      });
      response.end(request.method === "HEAD" ? undefined : file.body);
      return true;
    },
  };
}
