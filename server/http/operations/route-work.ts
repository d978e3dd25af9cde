import type { FastifyInstance, RouteHandlerMethod } from "fastify";
import { markWork } from "../../event-loop/loop-work.ts";

// Labels the event loop's work with the route, from the start of its handler, so that reports of stalls can name it. Call it
// before adding routes.
export function labelRouteWork(app: FastifyInstance): void {
  app.addHook("onRoute", (route) => {
    const work = { name: `${[route.method].flat().join(",")} ${route.url}` };
    const { handler } = route;
    route.handler = function (this: FastifyInstance, request, reply) {
      markWork(work);
      return (handler as RouteHandlerMethod).call(this, request, reply);
    };
  });
}
