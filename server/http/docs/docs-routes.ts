import { readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";
import { stringify } from "yaml";
import { describeApi, type DescribedService } from "@berth/contract/openapi/openapi.ts";
import { addRoute } from "../requests/route.ts";
import { renderDocsPage } from "./docs-page.ts";

// The API description as OpenAPI YAML at /api/b2b/docs and as a page at /docs. Both are rendered once; the YAML on first use,
// because it takes a tenth of a second.
export function addDocsRoutes(app: FastifyInstance, service: DescribedService): void {
  const description = describeApi(service);
  let yaml: string | undefined;
  addRoute(app, "getDescription", (_request, reply) => {
    yaml ??= stringify(description, { aliasDuplicateObjects: false, lineWidth: 0 });
    void reply.type("application/yaml").header("cache-control", "no-cache").send(yaml);
  });

  const page = renderDocsPage(description, service.baseUrl);
  const style = ["docs.css", "try-it.css"].map((file) => readFileSync(new URL(file, import.meta.url), "utf8")).join("\n");
  const script = readFileSync(new URL("try-it.js", import.meta.url));
  const config = { public: true } as const;
  app.get("/docs", { config }, (_request, reply) => {
    void reply.type("text/html; charset=utf-8").headers(PAGE_HEADERS).send(page);
  });
  app.get("/docs/try-it.js", { config }, (_request, reply) => {
    void reply.type("text/javascript; charset=utf-8").headers(PAGE_HEADERS).send(script);
  });
  app.get("/docs/style.css", { config }, (_request, reply) => {
    void reply.type("text/css; charset=utf-8").headers(PAGE_HEADERS).send(style);
  });
}

const PAGE_HEADERS = {
  "cache-control": "no-cache",
  // The script sends requests with the reader's key to this server and to no other.
  "content-security-policy":
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};
