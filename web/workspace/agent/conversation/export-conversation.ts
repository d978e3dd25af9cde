import type { Conversation, ConversationItem } from "@berth/contract/agent.ts";
import type { FormItem } from "@berth/contract/questions.ts";
import { saveAs } from "../../browser/download.ts";

// Makes the browser download the conversation as Markdown.
export function exportConversation({ title }: Conversation, items: ConversationItem[]): void {
  const name =
    title
      .replace(/[^\p{L}\p{N} _.-]/gu, "")
      .trim()
      .slice(0, 60) || "conversation";
  saveAs(new Blob([conversationMarkdown(title, items)], { type: "text/markdown" }), `${name}.md`);
}

export function conversationMarkdown(title: string, items: ConversationItem[]): string {
  return `${[`# ${title}`, ...items.flatMap((item) => partOf(item) ?? [])].join("\n\n")}\n`;
}

function partOf(item: ConversationItem): string | null {
  switch (item.kind) {
    case "user":
      return `## You\n\n${item.text}`;
    case "assistant":
      return `## Agent\n\n${item.text}`;
    case "tool":
      return `- ${item.title} (${item.status})`;
    case "changes":
      return null;
    case "plan":
      return item.entries.map(({ text, status }) => `- [${status === "completed" ? "x" : " "}] ${text}`).join("\n");
    case "permission":
      return `> Permission: ${item.title}`;
    case "form":
      return [`> Question: ${item.title}`, ...answersOf(item)].join("\n>\n");
    case "url":
      return `> Address to open: ${item.title} ${item.url}`;
    case "notice":
    case "restore":
      return `> ${item.text}`;
    case "thought":
      return null;
  }
}

function answersOf({ fields, outcome }: FormItem): string[] {
  if (outcome?.type !== "accepted") return [];
  return fields.flatMap(({ id, label }) => {
    const value = outcome.values[id];
    return value === undefined ? [] : [`> ${label}: ${Array.isArray(value) ? value.join(", ") : value}`];
  });
}
