import { readFile } from "node:fs/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "@berth/contract";

// The page of both consoles. It is one file, which Vite builds; the address decides what it shows.
export function addConsolePage(app: FastifyInstance, pageFile: string): void {
  const config = { public: true } as const;
  const sendPage = async (request: FastifyRequest, reply: FastifyReply) => {
    if (/^\/console\/(partner\/)?api(\/|\?|$)/.test(request.url)) throw new AppError("not_found");
    const page = await readFile(pageFile, "utf8").catch(() => null);
    if (page === null) throw new AppError("not_found", { message: "The console is not built; run npm run build" });
    return reply.type("text/html; charset=utf-8").headers(PAGE_HEADERS).send(page);
  };
  app.get("/console", { config }, sendPage);
  app.get("/console/*", { config }, sendPage);
}

const PAGE_HEADERS = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
};
