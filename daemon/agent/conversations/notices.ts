import type { CompactionSummaryChunk, CompactionUpdate, Notice } from "@agentclientprotocol/sdk";
import type { ConversationItem } from "@berth/contract/agent.ts";
import { plainLine, plainText } from "./plain-text.ts";
import { textOf } from "./tool-item.ts";

// Small lines of a conversation with which the agent says something beside its answer.
type NoticeItem = Extract<ConversationItem, { kind: "notice" }>;
type NewNotice = Omit<NoticeItem, "id" | "atMs">;

const MAX_TITLE = 500;
const MAX_DETAIL = 16 * 1024;

export function noticeOf({ severity, title, description }: Notice): NewNotice {
  const level = severity === "error" || severity === "warning" ? severity : "info";
  const more = description ? { detail: plainText(description, MAX_DETAIL) } : {};
  return { kind: "notice", level, text: plainLine(title, MAX_TITLE) || "The agent sent an empty notice.", ...more };
}

// The agent replaces its memory of the conversation so far by a summary. The items of the conversation stay.
const COMPACTION: Readonly<Record<string, Pick<NewNotice, "level" | "text">>> = {
  in_progress: { level: "info", text: "The agent is summarising the conversation so far, to make room for more…" },
  completed: { level: "info", text: "The agent has summarised the conversation so far, to make room for more." },
  failed: { level: "warning", text: "The agent could not summarise the conversation so far." },
  cancelled: { level: "info", text: "The agent stopped summarising the conversation so far." },
};

export const compactionId = (id: string): string => `compaction_${id.slice(0, 100)}`;

// The notice about a compaction after an update. A summary arrives whole or in parts.
export function compactionNotice(update: CompactionUpdate | CompactionSummaryChunk, old: ConversationItem | undefined): NewNotice {
  const before = old?.kind === "notice" ? old : null;
  const detail = detailOf(update, before?.detail ?? "");
  const status = "status" in update ? COMPACTION[update.status] : undefined;
  const { level, text } = status ?? before ?? COMPACTION.in_progress!;
  return { kind: "notice", level, text, ...(detail === "" ? {} : { detail }) };
}

function detailOf(update: CompactionUpdate | CompactionSummaryChunk, before: string): string {
  if ("content" in update) return before.length >= MAX_DETAIL ? before : plainText(before + textOf(update.content), MAX_DETAIL);
  const { summary, error } = update;
  if (error) return plainText(error, MAX_DETAIL);
  return summary === undefined ? before : plainText((summary ?? []).slice(0, 100).map(textOf).join("\n"), MAX_DETAIL);
}
