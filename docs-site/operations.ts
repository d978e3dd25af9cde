import { describeApi } from "@berth/contract/openapi/openapi.ts";
import type { Section } from "./outline.ts";
import { REFERENCE_URL } from "./sources.ts";

// The calls of the API, for search. The server renders their reference, because it depends on the server's settings.
export function operationSections(): Section[] {
  const { paths } = describeApi({ baseUrl: "http://localhost:8080" });
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, summary, description }]) => ({
      url: `${REFERENCE_URL}#${operationId}`,
      page: "API reference",
      title: String(summary),
      text: `${method.toUpperCase()} ${path} ${String(description)}`,
    })),
  );
}
