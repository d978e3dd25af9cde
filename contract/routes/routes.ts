import type { ErrorCode } from "../errors.ts";
import { EVENT_ROUTES } from "./event-routes.ts";
import { KEY_ROUTES } from "./key-routes.ts";
import { route, scopeOf, type Route } from "./route.ts";
import { RUN_ROUTES } from "./run-routes.ts";
import { SESSION_ROUTES } from "./session-routes.ts";
import { SNAPSHOT_ROUTES } from "./snapshot-routes.ts";
import { TOKEN_ROUTES } from "./token-routes.ts";
import { USAGE_ROUTES } from "./usage-routes.ts";
import { VOLUME_ROUTES } from "./volume-routes.ts";

// Every route of the partner API as plain data. The server registers its handlers from this table, and the OpenAPI
// description is derived from it, so the two cannot differ.
export const ROUTES = {
  ...SESSION_ROUTES,
  ...TOKEN_ROUTES,
  ...RUN_ROUTES,
  ...SNAPSHOT_ROUTES,
  ...EVENT_ROUTES,
  ...KEY_ROUTES,
  ...USAGE_ROUTES,
  ...VOLUME_ROUTES,
  getDescription: route({
    method: "GET",
    path: "/api/b2b/docs",
    tag: "Description",
    summary: "Get this description",
    description: "Returns this document as YAML. It needs no API key.",
    public: true,
    success: { status: 200, description: "The OpenAPI 3.1 description.", media: ["application/yaml"] },
    errors: ["bad_request"],
  }),
} as const satisfies Record<string, Route>;

export type RouteName = keyof typeof ROUTES;

// The errors of Berth itself that every call of a sandbox's API can meet, before the daemon in the sandbox answers.
export const SANDBOX_ERRORS: readonly ErrorCode[] = [
  "unauthorized",
  "insufficient_scope",
  "session_not_found",
  "session_paused",
  "rate_limited",
  "internal",
  "sandbox_unreachable",
  "store_unavailable",
  "server_disk_full",
  "unavailable",
];

// The errors that every call can meet. A public route does not check a key, so it lacks the first group.
export const commonErrors = (route: Route): readonly ErrorCode[] => [
  ...(route.public ? [] : (["unauthorized", "rate_limited", "store_unavailable", "server_disk_full", "unavailable"] as const)),
  ...(route.public || scopeOf(route) === "read" ? [] : (["insufficient_scope"] as const)),
  ...(route.idempotent ? (["validation_failed", "idempotency_in_flight", "idempotency_mismatch"] as const) : []),
  "internal",
];
