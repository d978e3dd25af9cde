import type { ModelWait } from "@berth/contract/agent.ts";

const REASONS: Record<string, string> = {
  model_slow: "The model has not answered yet. You can wait, or stop the agent.",
  model_key_refused: "The model's provider rejected the server's API key",
  model_quota: "No tokens are left",
  model_context_full: "The conversation no longer fits into the model's context",
  model_rate_limited: "The model's provider limits the number of requests",
  model_unreachable: "The model does not answer",
  model_unavailable: "The model's provider reports an error",
};

export function describeModelWait({ code, attempt, attempts }: ModelWait): string {
  const reason = REASONS[code] ?? "The model refused the request";
  return attempt === undefined ? reason : `${reason}. Retrying, ${attempt} of ${attempts}.`;
}
