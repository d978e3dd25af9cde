import type { FastifyInstance, RouteHandlerMethod } from "fastify";
import { ROUTES, scopeOf, type CallScope, type KeyScope, type Route, type RouteName } from "@berth/contract";

declare module "fastify" {
  interface FastifyContextConfig {
    // The route needs no API key.
    public?: true;
    // The scope that the key needs. Set on every route that is not public.
    scope?: KeyScope;
    // The scope with which a session token may call the route. Absent: none.
    tokenScope?: CallScope;
    // Monitoring calls the route every few seconds.
    probe?: true;
  }
}

// Registers the handler of a route of the contract. Fastify serializes replies by the route's schema, so fields that the
// schema does not name are never sent.
export function addRoute(app: FastifyInstance, name: RouteName, handler: RouteHandlerMethod): void {
  const route: Route = ROUTES[name];
  const { schema, status } = route.success;
  app.route({
    method: route.method,
    url: route.path.replaceAll(/\{(\w+)\}/g, ":$1"),
    config: route.public ? { public: true } : { scope: scopeOf(route), tokenScope: route.tokenScope ?? null },
    ...(schema && { schema: { response: { [status]: schema } } }),
    handler,
  });
}
