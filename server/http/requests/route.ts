import type { FastifyInstance, RouteHandlerMethod } from "fastify";
import { ROUTES, type Route, type RouteName } from "@berth/contract";

// Registers the handler of a route of the contract. What the schema of the answer does not name never leaves.
export function addRoute(app: FastifyInstance, name: RouteName, handler: RouteHandlerMethod): void {
  const route: Route = ROUTES[name];
  const { schema, status } = route.success;
  app.route({
    method: route.method,
    url: route.path.replaceAll(/\{(\w+)\}/g, ":$1"),
    config: route.public ? { public: true } : {},
    ...(schema && { schema: { response: { [status]: schema } } }),
    handler,
  });
}
