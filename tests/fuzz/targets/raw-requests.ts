import type fc from "fast-check";
import type { BerthWorld } from "../berth-world.ts";
import { exchange, type Exchanged } from "../traffic/exchange.ts";
import { isWellFormed, renderRequest, type RequestPlan } from "../traffic/requests.ts";
import { defineTarget, type Finding } from "../target.ts";

const PATIENCE_MS = 25;

export interface RawRequestTarget {
  name: string;
  plan: fc.Arbitrary<RequestPlan>;
  workers: number;
  // Replaces the placeholders of a request with values of this server.
  fillIn(text: string, world: BerthWorld): string;
  // Judges an answer that is HTTP.
  judge(answered: Answered, sent: { isHead: boolean }): Finding | undefined;
}

export type Answered = Extract<Exchanged, { is: "answered" }>;

// A target that sends requests to the server byte by byte. Every well-formed request is owed an HTTP answer.
export const rawRequests = ({ name, plan, workers, fillIn, judge }: RawRequestTarget, world: BerthWorld) =>
  defineTarget<RequestPlan>({
    name,
    plan,
    workers,
    deadlineMs: 30_000,
    async run(request, { signal }) {
      const isHead = request.method === "HEAD";
      const isOwed = isWellFormed(request);
      const exchanged = await exchange({
        to: { port: world.port, host: "127.0.0.1" },
        pieces: renderRequest(request, (text) => fillIn(text, world)),
        isHead,
        isOwed,
        patienceMs: PATIENCE_MS,
        signal,
        idle: world.idle,
      });
      return exchanged.is === "answered" ? judge(exchanged, { isHead }) : judgeSilence(exchanged, isOwed);
    },
  });

function judgeSilence(exchanged: Exclude<Exchanged, { is: "answered" }>, isOwed: boolean): Finding | undefined {
  if (exchanged.is === "garbage")
    return { kind: "wrong answer", sentence: `bytes that are not HTTP: ${JSON.stringify(exchanged.text.slice(0, 60))}` };
  return isOwed ? { kind: "wrong answer", sentence: `no answer to a well-formed request: ${exchanged.is}` } : undefined;
}
