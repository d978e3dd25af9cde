import { join } from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "@berth/contract";
import { respondWith, type BuiltFile, type BuiltFiles, type StoredFile } from "../../built-files.ts";

export const DOCS_FOLDER = join(import.meta.dirname, "../../../docs-site/dist");

// The documentation at /docs. Set-up builds it from Markdown (docs-site/), except for the reference of the API.
export function addDocsSite(app: FastifyInstance, files: BuiltFiles, reference: () => StoredFile | null): void {
  const config = { public: true } as const;
  app.get("/docs", { config }, (request, reply) => sendPage(request, reply, "index.html"));
  app.get<{ Params: { "*": string } }>("/docs/*", { config }, (request, reply) =>
    sendPage(request, reply, `${request.params["*"].replace(/\/$/, "")}.html`),
  );
  app.get("/docs/api", { config }, async (request, reply) => {
    const page = reference();
    return send(request, reply, page && (await respondWith(page, request.headers["accept-encoding"], "no-cache")));
  });
  app.get<{ Params: { file: string } }>("/docs/assets/:file", { config }, async (request, reply) => {
    const file = await files.respond(`assets/${request.params.file}`, request.headers["accept-encoding"]);
    if (!file) throw new AppError("not_found");
    return send(request, reply, file);
  });

  async function sendPage(request: FastifyRequest, reply: FastifyReply, path: string): Promise<FastifyReply> {
    const accepted = request.headers["accept-encoding"];
    const page = await files.respond(path, accepted);
    if (!page) void reply.code(404);
    return send(request, reply, page ?? (await files.respond("not-found.html", accepted)));
  }
}

function send(request: FastifyRequest, reply: FastifyReply, file: BuiltFile | null): FastifyReply {
  if (!file) throw new AppError("not_found", { message: "This server was set up without its documentation: run `npm run setup`" });
  void reply.headers({ ...file.headers, ...HEADERS });
  if (file.headers.etag !== undefined && request.headers["if-none-match"] === file.headers.etag) return reply.code(304).send();
  return reply.send(file.body);
}

const HEADERS = {
  // Pages have no inline scripts or styles, and nothing in them comes from another host. The reference sends requests with the reader's
  // key to this server and to no other.
  "content-security-policy":
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
};
