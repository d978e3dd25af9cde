import type { FastifyInstance } from "fastify";
import { logFailure, toAppError } from "../../../http/requests/fastify-errors.ts";
import type { Log } from "../../../log.ts";
import { toE2bError, unsupported } from "../errors.ts";
import { API_PATH, type AddRoute } from "./route.ts";
import { addSandboxRoutes, type SandboxRouteDeps } from "./sandbox-routes.ts";
import { addStorageRoutes, type StorageRouteDeps } from "./storage-routes.ts";

// E2B's API for sandboxes, below API_PATH. Keys, scopes, rate limits, logs and audit entries are those of the partner API.
export function addControlRoutes(app: FastifyInstance, deps: SandboxRouteDeps & StorageRouteDeps & { log: Log }): void {
  void app.register((scope, _options, done) => {
    scope.setErrorHandler((error, request, reply) => {
      const body = toE2bError(toAppError(error));
      if (body.code >= 500) logFailure(deps.log, error, request);
      return reply.code(body.code).type("application/json; charset=utf-8").send(JSON.stringify(body));
    });

    const add: AddRoute = (method, path, handler) =>
      scope.route({ method, url: `${API_PATH}${path}`, config: { scope: method === "GET" ? "read" : "sessions" }, handler });
    addSandboxRoutes(add, deps);
    addStorageRoutes(add, deps);
    scope.route({
      method: ["GET", "POST", "PUT", "PATCH", "DELETE"],
      url: `${API_PATH}/*`,
      config: { scope: "read" },
      handler: async (request) => {
        throw unsupported(`${request.method} ${request.url.split("?", 1)[0]?.slice(API_PATH.length)}`);
      },
    });
    done();
  });
}
