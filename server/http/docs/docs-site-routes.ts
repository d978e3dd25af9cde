import { join } from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "@berth/contract";
import { createBuiltFiles, type BuiltFiles } from "../../built-files.ts";

export const DOCS_FOLDER = join(import.meta.dirname, "../../../docs-site/dist");

// The guides at /docs, which set-up builds from Markdown (docs-site/).
export function addDocsSite(app: FastifyInstance, files: BuiltFiles = createBuiltFiles(DOCS_FOLDER)): void {
  const config = { public: true } as const;
  app.get("/docs", { config }, (request, reply) => send(request, reply, "index.html"));
  app.get<{ Params: { "*": string } }>("/docs/*", { config }, (request, reply) => {
    const path = request.params["*"];
    return send(request, reply, path.startsWith("assets/") ? path : `${path.replace(/\/$/, "")}.html`);
  });

  async function send(request: FastifyRequest, reply: FastifyReply, path: string): Promise<FastifyReply> {
    const accepted = request.headers["accept-encoding"];
    const file = await files.respond(path, accepted);
    if (!file) return path.startsWith("assets/") ? refuse() : sendNotFound(reply, accepted);
    void reply.headers({ ...file.headers, ...PAGE_HEADERS });
    if (file.headers.etag !== undefined && request.headers["if-none-match"] === file.headers.etag) return reply.code(304).send();
    return reply.send(file.body);
  }

  async function sendNotFound(reply: FastifyReply, accepted: string | undefined): Promise<FastifyReply> {
    const page = await files.respond("not-found.html", accepted);
    if (!page) throw new AppError("not_found", { message: "This server was set up without its documentation: run `npm run setup`" });
    return reply
      .code(404)
      .headers({ ...page.headers, ...PAGE_HEADERS })
      .send(page.body);
  }
}

function refuse(): never {
  throw new AppError("not_found");
}

const PAGE_HEADERS = {
  // Pages have no inline scripts or styles, and nothing in them comes from another host.
  "content-security-policy":
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
};
