import type { FastifyInstance } from "fastify";
import type { CallsUnderWay } from "../../sessions/calls-under-way.ts";

// Counts a call until its response is complete or its caller has gone.
export function countCalls(app: FastifyInstance, calls: CallsUnderWay): void {
  app.addHook("onRequest", (request, reply, done) => {
    // It closes once, and `once` would cost several times as much.
    if (request.method !== "DELETE") reply.raw.on("close", calls.begin());
    done();
  });
}
