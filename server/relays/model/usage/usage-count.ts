import type { Clock } from "../../../clock.ts";
import type { Log } from "../../../log.ts";
import { addModelUsage, correctModelUsage, type ModelUser } from "../../../store/partners/model-usage.ts";
import type { Store } from "../../../store/open.ts";
import type { TokenUsage, UsageMeter } from "./usage-meter.ts";

// Counts the tokens of one request for its session. An estimate is recorded before the request is sent, so that it counts even
// if the caller disconnects or the server dies, and corrected when the answer is complete.
export interface UsageCount {
  // Records that no tokens were used, because the provider was not reached or refused the request.
  cancel(): Promise<void>;
  // Records the tokens that the provider reported, or an estimate from the bytes of the answer.
  settle(meter: UsageMeter | undefined, options: { isComplete: boolean }): Promise<void>;
}

export interface CountDeps {
  store: Store;
  clock: Clock;
  log: Log;
}

export async function beginCount({ store, clock, log }: CountDeps, user: ModelUser, promptTokens: number): Promise<UsageCount> {
  const addedAtMs = clock.now();
  await store.transaction((tx) => addModelUsage(tx, user, { input: promptTokens, output: 0 }, addedAtMs));
  return {
    cancel: () => correct({ input: 0, output: 0 }),
    settle: (meter, { isComplete }) =>
      correct(meter ? usedTokens(meter, promptTokens, { isComplete }) : { input: promptTokens, output: 0 }),
  };

  async function correct({ input, output }: TokenUsage): Promise<void> {
    if (input === promptTokens && output === 0) return;
    try {
      const difference = { input: input - promptTokens, output };
      await store.transaction((tx) => correctModelUsage(tx, user, difference, { nowMs: clock.now(), addedAtMs }));
    } catch (error) {
      log.error("model.usage_lost", { sessionId: user.sessionId, input, output, error: String(error) });
    }
  }
}

// The provider's final report counts. Without one, a truncated stream costs its received part, or more if the provider already
// reported more.
function usedTokens(meter: UsageMeter, promptTokens: number, { isComplete }: { isComplete: boolean }): TokenUsage {
  const { input, output } = meter.reported();
  const isFinal = isComplete && meter.isFinal() && output !== undefined;
  return { input: input || promptTokens, output: isFinal ? output : Math.max(output ?? 0, meter.seen()) };
}
