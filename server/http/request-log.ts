import type { FastifyInstance } from "fastify";
import type { Log } from "../log.ts";

// One line for each request. The route's pattern stands for the URL: a query can hold a signature, a path an id.
export function logRequests(app: FastifyInstance, log: Log): void {
  app.addHook("onResponse", (request, reply, done) => {
    log.info("http.request", {
      requestId: request.id,
      method: request.method,
      route: request.is404 ? null : request.routeOptions.url,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 100) / 100,
      partner: request.principal?.partner.id,
    });
    done();
  });
}
