import type { ConversationItem } from "@berth/contract/agent.ts";

// The changes of a turn grow while it runs, and are shown at its end.
export function changesLast(items: readonly ConversationItem[]): ConversationItem[] {
  const arranged: ConversationItem[] = [];
  const waiting: ConversationItem[] = [];
  for (const item of items) {
    if (item.kind === "user" || item.kind === "restore") arranged.push(...waiting.splice(0));
    (item.kind === "changes" ? waiting : arranged).push(item);
  }
  return [...arranged, ...waiting];
}
