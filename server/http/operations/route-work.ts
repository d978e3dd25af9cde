import type { FastifyInstance, RouteHandlerMethod } from "fastify";
import { markWork } from "../../event-loop/loop-work.ts";

// Names what the event loop does after the route, from the moment that the body is there. To be called before routes are
// added.
export function markRoutes(app: FastifyInstance): void {
  app.addHook("onRoute", (route) => {
    const work = { name: `${[route.method].flat().join(",")} ${route.url}` };
    const { handler } = route;
    route.handler = function (this: FastifyInstance, request, reply) {
      markWork(work);
      return (handler as RouteHandlerMethod).call(this, request, reply);
    };
  });
}
