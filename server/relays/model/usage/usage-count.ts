import type { Clock } from "../../../clock.ts";
import type { Log } from "../../../log.ts";
import { addModelUsage, correctModelUsage, type ModelUser } from "../../../store/model-usage.ts";
import type { Db } from "../../../store/schema.ts";
import type { TokenUsage, UsageMeter } from "./usage-meter.ts";

// The tokens of one request, counted for its session from the moment it is sent: a caller that hangs up, or a server that
// dies, has used them all the same. What was counted is corrected when the answer has passed.
export interface UsageCount {
  // Nothing was used: the provider was not reached, or it refused.
  cancel(): Promise<void>;
  // What was used, from what the provider has said and what has passed. `complete`: the answer came to its end.
  settle(meter: UsageMeter | undefined, options: { complete: boolean }): Promise<void>;
}

export interface CountDeps {
  db: Db;
  clock: Clock;
  log: Log;
}

export async function beginCount({ db, clock, log }: CountDeps, user: ModelUser, promptTokens: number): Promise<UsageCount> {
  await addModelUsage(db, user, { input: promptTokens, output: 0 }, clock.now());
  return {
    cancel: () => correct({ input: 0, output: 0 }),
    settle: (meter, { complete }) => correct(meter ? usedTokens(meter, promptTokens, complete) : { input: promptTokens, output: 0 }),
  };

  async function correct({ input, output }: TokenUsage): Promise<void> {
    if (input === promptTokens && output === 0) return;
    try {
      await correctModelUsage(db, user.sessionId, { input: input - promptTokens, output }, clock.now());
    } catch (error) {
      log.error("model.usage_lost", { sessionId: user.sessionId, input, output, error: String(error) });
    }
  }
}

// The provider's last word counts. Without it, a stream that was cut off costs what has been seen of it, or more if the
// provider has said more.
function usedTokens(meter: UsageMeter, promptTokens: number, complete: boolean): TokenUsage {
  const { input, output } = meter.reported();
  const isLastWord = complete && meter.isFinal() && output !== undefined;
  return { input: input || promptTokens, output: isLastWord ? output : Math.max(output ?? 0, meter.seen()) };
}
