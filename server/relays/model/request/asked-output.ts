import type { ScannedValue } from "@berth/contract/model/json/json-value.ts";
import type { ModelApi } from "./request-fields.ts";
import type { RequestPart } from "./request-rules.ts";

// How many output tokens a request may cost, by the limit that it names.
export interface AskedOutput {
  tokens: number;
  // The fields that name a limit for one answer, to be lowered if there are fewer tokens left for all answers.
  lowered(tokens: number): Map<RequestPart, string>;
}

const LIMIT_PARTS = ["max_tokens", "max_completion_tokens", "max_output_tokens"] as const satisfies readonly RequestPart[];
const ANSWER_PARTS = ["n", "best_of"] as const satisfies readonly RequestPart[];

// A request that names no limit counts this much for each answer. Models may write more.
const UNNAMED_TOKENS = 8_192;
// No model writes more, and sums of it are exact.
const MOST_TOKENS = 1_000_000_000;

export function askedOutput(api: ModelApi | null, parts: ReadonlyMap<RequestPart, ScannedValue>): AskedOutput {
  if (api === "embeddings" || api === null) return { tokens: 0, lowered: () => new Map() };
  const named = LIMIT_PARTS.filter((part) => countIn(parts.get(part)) > 0);
  const limit = named.length === 0 ? UNNAMED_TOKENS : Math.max(...named.map((part) => countIn(parts.get(part))));
  const answers = Math.max(1, ...ANSWER_PARTS.map((part) => countIn(parts.get(part))));
  return {
    tokens: Math.min(limit * answers, MOST_TOKENS),
    lowered(tokens) {
      const each = Math.max(1, Math.floor(tokens / answers));
      return new Map(named.filter((part) => countIn(parts.get(part)) > each).map((part) => [part, String(each)]));
    },
  };
}

const countIn = (value: ScannedValue | undefined): number =>
  value?.kind === "number" ? Math.min(Math.max(0, Math.ceil(Number(value.text))), MOST_TOKENS) : 0;
