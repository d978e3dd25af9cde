import type { FastifyInstance } from "fastify";
import { stringify } from "yaml";
import { describeApi, type DescribedService } from "@berth/contract/openapi/openapi.ts";
import { createBuiltFiles, storeFile, type StoredFile } from "../../built-files.ts";
import { addRoute } from "../requests/route.ts";
import { addDocsSite, DOCS_FOLDER } from "./docs-site-routes.ts";
import { renderReference } from "./reference-page.ts";

// The API description as OpenAPI YAML at /api/b2b/docs, and the documentation at /docs with the description as a page at /docs/api. Each
// is rendered once, on first use, because together they take a fifth of a second.
export function addDocsRoutes(app: FastifyInstance, service: DescribedService, folder = DOCS_FOLDER): void {
  let yaml: string | undefined;
  addRoute(app, "getDescription", (_request, reply) => {
    yaml ??= stringify(describeApi(service), { aliasDuplicateObjects: false, lineWidth: 0 });
    void reply.type("application/yaml").header("cache-control", "no-cache").send(yaml);
  });

  const files = createBuiltFiles(folder);
  let shown: { frame: string; page: StoredFile } | undefined;
  addDocsSite(app, files, () => {
    const frame = files.text("api.html");
    if (frame === null) return null;
    if (shown?.frame !== frame) {
      const parts = renderReference(describeApi(service), service.baseUrl);
      const page = frame.replaceAll(/<!-- (reference|operations) -->/g, (_mark, part: keyof typeof parts) => parts[part]);
      shown = { frame, page: storeFile("text/html; charset=utf-8", Buffer.from(page)) };
    }
    return shown.page;
  });
}
