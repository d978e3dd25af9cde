import type { FastifyInstance } from "fastify";
import type { Log } from "../../log.ts";

// One line for each request. The route's pattern stands for the URL: a query can hold a signature, a path an id.
// A probe that was content is no news: three servers on Kubernetes would write a hundred such lines a minute.
export function logRequests(app: FastifyInstance, log: Log): void {
  app.addHook("onResponse", (request, reply, done) => {
    const level = request.routeOptions.config.probe && reply.statusCode < 400 ? "debug" : "info";
    log[level]("http.request", {
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
