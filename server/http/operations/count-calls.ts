import type { FastifyInstance } from "fastify";
import type { CallsUnderWay } from "../../sessions/calls-under-way.ts";

// Counts a call until its response is complete or its caller has gone.
export function countCalls(app: FastifyInstance, calls: CallsUnderWay): void {
  app.addHook("onRequest", (request, reply, done) => {
    if (request.method !== "DELETE") reply.raw.once("close", calls.begin());
    done();
  });
}
