import type { FastifyInstance } from "fastify";
import { AppError } from "@berth/contract";
import { createFairTurns, type FairTurns } from "../../event-loop/fair-turns.ts";

// Partners take turns: however many requests one of them has under way, the next request of another is started after one
// of them. Only the start waits, when the body has been read. A create that takes long holds up nothing.
export function startInTurn(app: FastifyInstance, turns: FairTurns = createPartnerTurns()): void {
  app.addHook("preHandler", (request, _reply, done) => {
    // Routes without a key answer from memory.
    const { principal } = request;
    if (!principal) return done();
    if (!turns.enter(principal.partner.id, done)) done(new AppError("rate_limited", { retryAfterSeconds: 1 }));
  });
}

// Each holds its body in memory.
const MAX_WAITING = 1_000;

const createPartnerTurns = (): FairTurns => createFairTurns({ maxWaitingPerHolder: MAX_WAITING });
