import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { CallsUnderWay } from "../../sessions/calls-under-way.ts";

export interface CallWatch {
  // Calls back when the response of a call is complete, with the milliseconds that the call took; not if its caller has gone before.
  onAnswered(listener: AnsweredListener): void;
}

export type AnsweredListener = (request: FastifyRequest, reply: FastifyReply, ms: number) => void;

// Counts a call until its response is complete or its caller has gone. One listener of the response serves all parts: Fastify's onResponse
// hook would add two for each call, remove them again, and read the clock twice.
export function watchCalls(app: FastifyInstance, calls: CallsUnderWay): CallWatch {
  const listeners: AnsweredListener[] = [];
  app.addHook("onRequest", (request, reply, done) => {
    const startedMs = performance.now();
    const endCall = request.method === "DELETE" ? undefined : calls.begin();
    // It closes once, and `once` would cost several times as much.
    reply.raw.on("close", () => {
      endCall?.();
      if (!reply.raw.writableFinished) return;
      const ms = performance.now() - startedMs;
      for (const listener of listeners) listener(request, reply, ms);
    });
    done();
  });
  return { onAnswered: (listener) => void listeners.push(listener) };
}
