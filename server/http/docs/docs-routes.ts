import { readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";
import { stringify } from "yaml";
import { describeApi, type DescribedService } from "@berth/contract/openapi/openapi.ts";
import { addRoute } from "../requests/route.ts";
import { renderReferencePage } from "./reference-page.ts";

// The API description as OpenAPI YAML at /api/b2b/docs and as a page at /docs/api. Each is rendered once, on first use, because together
// they take a fifth of a second.
export function addDocsRoutes(app: FastifyInstance, service: DescribedService): void {
  let yaml: string | undefined;
  addRoute(app, "getDescription", (_request, reply) => {
    yaml ??= stringify(describeApi(service), { aliasDuplicateObjects: false, lineWidth: 0 });
    void reply.type("application/yaml").header("cache-control", "no-cache").send(yaml);
  });

  let page: string | undefined;
  const config = { public: true } as const;
  app.get("/docs/api", { config }, (_request, reply) => {
    void reply
      .type("text/html; charset=utf-8")
      .headers(PAGE_HEADERS)
      .send((page ??= renderReferencePage(describeApi(service), service.baseUrl)));
  });
  app.get("/docs/api/try-it.js", { config }, (_request, reply) => {
    void reply.type("text/javascript; charset=utf-8").headers(PAGE_HEADERS).send(readBeside("try-it.js"));
  });
  app.get("/docs/api/style.css", { config }, (_request, reply) => {
    void reply.type("text/css; charset=utf-8").headers(PAGE_HEADERS).send(["docs.css", "try-it.css"].map(readBeside).join("\n"));
  });
}

const readBeside = (file: string): string => readFileSync(new URL(file, import.meta.url), "utf8");

const PAGE_HEADERS = {
  "cache-control": "no-cache",
  // The script sends requests with the reader's key to this server and to no other.
  "content-security-policy":
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};
