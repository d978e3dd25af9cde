import type { FastifyInstance } from "fastify";
import type { Log } from "../../log.ts";

// Logs one line per request, with the route's pattern instead of the URL, because URLs contain ids and signatures. Successful
// probes are logged at debug level: three servers on Kubernetes would write a hundred such lines a minute.
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
