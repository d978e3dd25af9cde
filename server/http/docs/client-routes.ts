import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { AppError } from "@berth/contract";

const root = join(import.meta.dirname, "../../..");
// Set-up builds the packages into these folders.
const FOLDERS = ["client", "clients/computesdk", "clients/python"].map((folder) => join(root, folder, "dist/packed"));
const TYPES: Record<string, string> = { tgz: "application/gzip", whl: "application/zip" };

// The clients for partners' backends, of the version that fits this server: `npm install {server}/clients/berth-client.tgz`, or
// berth-computesdk.tgz, and `pip install {server}/clients/berth-{version}-py3-none-any.whl`. pip takes the version from the name, so /clients/berth.whl only leads
// to the file.
export function addClientRoutes(app: FastifyInstance, folders = FOLDERS): void {
  app.get("/clients/berth.whl", { config: { public: true } }, async (_request, reply) => {
    const name = [...(await packages()).keys()].find((file) => file.endsWith(".whl"));
    if (!name) throw notBuilt();
    return reply.header("cache-control", "no-cache").redirect(`/clients/${name}`, 302);
  });

  app.get<{ Params: { file: string } }>("/clients/:file", { config: { public: true } }, async (request, reply) => {
    const { file } = request.params;
    const known = await packages();
    const path = known.get(file);
    if (!path) throw known.size < folders.length ? notBuilt() : new AppError("not_found");
    const bytes = await readFile(path);
    const etag = `"${createHash("sha256").update(bytes).digest("base64url")}"`;
    void reply.headers({ etag, "cache-control": "no-cache", "x-content-type-options": "nosniff" });
    if (request.headers["if-none-match"] === etag) return reply.code(304).send();
    return reply.type(TYPES[file.split(".").at(-1)!] ?? "application/octet-stream").send(bytes);
  });

  // Only these files are served, whatever path a request names.
  async function packages(): Promise<Map<string, string>> {
    const files = await Promise.all(
      folders.map(async (folder) => (await readdir(folder).catch(() => [])).map((file) => [file, join(folder, file)] as const)),
    );
    return new Map(files.flat());
  }
}

const notBuilt = () => new AppError("not_found", { message: "This server was set up without its clients: run `npm run setup`" });
