import type { Usage } from "@berth/contract/agent.ts";

// The usage of a conversation in one short line. Empty if the agent does not report it.
export function describeUsage(usage: Usage | null): string {
  if (usage === null) return "";
  if (usage.contextUsed === 0 && !usage.inputTokens) return "";
  const { contextUsed, contextSize, inputTokens, outputTokens, cost } = usage;
  const parts: string[] = [];
  if (inputTokens !== undefined || outputTokens !== undefined) parts.push(`${short((inputTokens ?? 0) + (outputTokens ?? 0))} tokens`);
  else if (contextUsed !== undefined) parts.push(`${short(contextUsed)} tokens`);
  if (contextUsed !== undefined && contextSize) parts.push(`${percent(contextUsed / contextSize)} of context`);
  if (cost) parts.push(`${cost.amount.toFixed(2)} ${cost.currency}`);
  return parts.join(" · ");
}

const percent = (share: number): string => (share < 0.01 ? "<1%" : `${Math.round(share * 100)}%`);

const short = (count: number): string =>
  count < 1000 ? String(count) : count < 1e6 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1e6).toFixed(1)}M`;
