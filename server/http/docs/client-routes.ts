import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { AppError } from "@berth/contract";

const PACKAGE = "berth-client.tgz";

// The client for partners' backends, of the version that fits this server, for `npm install {server}/clients/berth-client.tgz`.
export function addClientRoutes(app: FastifyInstance, folder = join(import.meta.dirname, "../../../client/dist/packed")): void {
  app.get(`/clients/${PACKAGE}`, { config: { public: true } }, async (request, reply) => {
    const bytes = await readFile(join(folder, PACKAGE)).catch((cause: unknown) => {
      throw new AppError("not_found", { message: "This server was set up without its clients: run `npm run setup`", cause });
    });
    const etag = `"${createHash("sha256").update(bytes).digest("base64url")}"`;
    void reply.headers({ etag, "cache-control": "no-cache", "x-content-type-options": "nosniff" });
    if (request.headers["if-none-match"] === etag) return reply.code(304).send();
    return reply.type("application/gzip").send(bytes);
  });
}
