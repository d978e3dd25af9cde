import type { FastifyInstance } from "fastify";
import { AppError } from "@berth/contract";
import { createFairTurns, type FairTurns } from "../../event-loop/fair-turns.ts";

// Starts requests in turns: if one partner has many requests waiting, another partner's request waits for only one of them.
// Only the start of a handler waits, after the body has been read, so a slow request delays no other request.
export function startInTurn(app: FastifyInstance, turns: FairTurns = createPartnerTurns()): void {
  app.addHook("preHandler", (request, _reply, done) => {
    // Routes without a key reply from memory, so they need no turn.
    const { principal } = request;
    if (!principal) return done();
    if (!turns.enter(principal.partner.id, done)) done(new AppError("rate_limited", { retryAfterSeconds: 1 }));
  });
}

// Bounds the memory: every waiting request holds its body.
const MAX_WAITING = 1_000;

const createPartnerTurns = (): FairTurns => createFairTurns({ maxWaitingPerHolder: MAX_WAITING });
