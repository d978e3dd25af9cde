import { setTimeout as sleep } from "node:timers/promises";
import { MINUTE, SECOND, type Clock } from "../../../clock.ts";
import type { Log } from "../../../log.ts";
import { reserveTokens, settleReservation, type Reservation } from "../../../store/partners/model-reservations.ts";
import { addModelUsage, correctModelUsage, type ModelUser } from "../../../store/partners/model-usage.ts";
import type { Store } from "../../../store/open.ts";
import { ModelRefusal, tokensExhausted } from "../admission/model-refusal.ts";
import type { TokenUsage, UsageMeter } from "@berth/contract/model/usage-meter.ts";

// Counts the tokens of one request for its session. An estimate of the prompt is recorded before the request is sent, so that it
// counts even if the caller disconnects or the server dies. If the session has a cap, the tokens that the answer may cost are
// reserved, so that requests at the same time cannot exceed it together. Both are corrected when the answer is complete.
export interface UsageCount {
  // The output tokens that are reserved for the request. Infinity: there is no cap.
  readonly reserved: number;
  // Records that no tokens were used, because the provider was not reached or refused the request.
  cancel(): Promise<void>;
  // Records the tokens that the provider reported, or an estimate from the bytes of the answer. If the caller disconnected before the
  // end of an answer that is not streamed, the provider has still made all of it, so what was reserved stays counted.
  settle(meter: UsageMeter | undefined, end: AnswerEnd): Promise<void>;
}

export type AnswerEnd = "complete" | "broken" | "disconnected";

export interface CountedRequest {
  promptTokens: number;
  // The most that the answer may cost.
  outputTokens: number;
  isStreamed: boolean;
}

export interface CountDeps {
  store: Store;
  clock: Clock;
  log: Log;
}

export interface CountOptions {
  cap: number | null;
  disconnected: AbortSignal;
  waitMs?: number;
}

// An answer with less room is of little use.
const LEAST_OUTPUT = 4_096;
// Requests in progress, which usually cost less than they have reserved.
const WAIT_MS = 30 * SECOND;
const LOOK_MS = 200;
// Longer than a request without any bytes of an answer. An answer that takes longer is settled correctly too.
const EXPIRY_MS = 10 * MINUTE;

export async function beginCount(deps: CountDeps, user: ModelUser, request: CountedRequest, options: CountOptions): Promise<UsageCount> {
  const { store, clock, log } = deps;
  const { promptTokens, isStreamed } = request;
  const addedAtMs = clock.now();
  const reservation = options.cap === null ? null : await reserve(deps, user, request, { ...options, cap: options.cap });
  if (!reservation) await store.transaction((tx) => addModelUsage(tx, user, { input: promptTokens, output: 0 }, addedAtMs));
  return {
    reserved: reservation?.output ?? Infinity,
    cancel: () => correct({ input: 0, output: 0 }),
    async settle(meter, end) {
      const used = meter ? usedTokens(meter, promptTokens, end) : { input: promptTokens, output: 0 };
      const isKept = end === "disconnected" && !isStreamed && !meter?.isFinal();
      const kept = isKept ? (reservation?.output ?? 0) : 0;
      await correct({ ...used, output: Math.max(used.output, kept) });
    },
  };

  async function correct({ input, output }: TokenUsage): Promise<void> {
    const difference = { input: input - promptTokens, output };
    if (!reservation && difference.input === 0 && output === 0) return;
    const nowMs = clock.now();
    try {
      await store.transaction((tx) =>
        reservation ? settleReservation(tx, reservation, difference, nowMs) : correctModelUsage(tx, user, difference, { nowMs, addedAtMs }),
      );
    } catch (error) {
      log.error("model.usage_lost", { sessionId: user.sessionId, input, output, error: String(error) });
    }
  }
}

async function reserve(
  { store, clock }: CountDeps,
  user: ModelUser,
  { promptTokens, outputTokens }: CountedRequest,
  { cap, disconnected, waitMs = WAIT_MS }: CountOptions & { cap: number },
): Promise<Reservation> {
  const leastOutput = Math.min(outputTokens, LEAST_OUTPUT, Math.floor(cap / 2));
  const endMs = performance.now() + waitMs;
  for (;;) {
    const nowMs = clock.now();
    const wanted = { input: promptTokens, output: outputTokens, leastOutput, cap };
    const reserved = await reserveTokens(store, user, wanted, { nowMs, expiresAtMs: nowMs + EXPIRY_MS });
    if (typeof reserved === "object") return reserved;
    if (reserved === "exhausted") throw tokensExhausted("This session has too few tokens left for this request");
    if (performance.now() >= endMs)
      throw new ModelRefusal(429, "rate_limit_exceeded", "Other requests have reserved the tokens that this session has left", 5);
    await sleep(LOOK_MS, undefined, { signal: disconnected });
  }
}

// The provider's final report counts. Without one, a truncated stream costs its received part, or more if the provider already
// reported more.
function usedTokens(meter: UsageMeter, promptTokens: number, end: AnswerEnd): TokenUsage {
  const { input, output } = meter.reported();
  const isFinal = end === "complete" && meter.isFinal() && output !== undefined;
  return { input: input || promptTokens, output: isFinal ? output : Math.max(output ?? 0, meter.seen()) };
}
