import { randomBytes } from "node:crypto";
import type { AgentMessage, Conversation, ConversationItem, ToolContent, ToolItem } from "@berth/contract/agent.ts";
import type { ContentBlock, SessionUpdate, ToolCallContent, ToolCallUpdate } from "@agentclientprotocol/sdk";

// One conversation as it grows: the agent's updates become items, and every change is told as a message.
export interface LiveConversation {
  readonly head: Conversation;
  readonly items: ReadonlyMap<string, ConversationItem>;
  apply(update: SessionUpdate): void;
  add(item: NewItem): ConversationItem;
  replace(item: ConversationItem): void;
  // The item of a tool call; made when the agent asks for permission before it has told of the call.
  tool(call: ToolCallUpdate): ConversationItem & ToolItem;
  changeHead(change: Partial<Conversation>): void;
  // The next text is a new item.
  endText(): void;
  // It has as many items as we keep; what the agent adds is not kept any more.
  readonly full: boolean;
}

export type NewItem = ConversationItem extends infer Item ? (Item extends ConversationItem ? Omit<Item, "id" | "atMs"> : never) : never;

export interface ConversationOptions {
  head: Conversation;
  items: ConversationItem[];
  // Absolute paths become relative to this folder where they lie in it.
  workspace: string;
  told: (message: AgentMessage, changed: ConversationItem | null) => void;
}

const MAX_TEXT = 64 * 1024;
const MAX_INPUT = 16 * 1024;
const MAX_DIFF = 512 * 1024;
const MAX_CONTENTS = 50;
const MAX_ITEMS = 5000;

export function createConversation({ head, items: known, workspace, told }: ConversationOptions): LiveConversation {
  const items = new Map(known.map((item) => [item.id, item]));
  const conversationId = head.id;
  let text: { item: ConversationItem & { kind: "assistant" | "thought" }; messageId: string | null } | null = null;
  let planId: string | null = null;

  return {
    head,
    items,
    apply,
    add,
    replace,
    tool,
    changeHead,
    endText,
    get full() {
      return items.size >= MAX_ITEMS;
    },
  };

  function apply(update: SessionUpdate): void {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return addText("assistant", textOf(update.content), update.messageId ?? null);
      case "agent_thought_chunk":
        return addText("thought", textOf(update.content), update.messageId ?? null);
      case "tool_call":
      case "tool_call_update":
        tool(update);
        return;
      case "plan":
        return setPlan(update.entries.map(({ content, status, priority }) => ({ text: content, status, priority })));
      case "current_mode_update":
        if (head.modes) changeHead({ modes: { ...head.modes, current: update.currentModeId } });
        return;
      case "session_info_update":
        if (update.title) changeHead({ title: update.title.slice(0, 200) });
        return;
      case "usage_update":
        changeHead({
          usage: { ...head.usage, contextUsed: update.used, contextSize: update.size, ...(update.cost ? { cost: update.cost } : {}) },
        });
        return;
      default:
        // What a newer agent may say, and what nobody here shows: commands, options, our own words repeated.
        return;
    }
  }

  function addText(kind: "assistant" | "thought", more: string, messageId: string | null): void {
    if (more === "") return;
    // Very long texts are several items, so that no single one grows without bound.
    if (text?.item.kind === kind && text.messageId === messageId && text.item.text.length < MAX_TEXT) {
      text.item.text += more;
      head.updatedAtMs = Date.now();
      return told({ type: "append", conversationId, itemId: text.item.id, text: more }, text.item);
    }
    const item = { id: newItemId(), atMs: Date.now(), kind, text: more };
    text = { item, messageId };
    put(item);
  }

  function tool(call: ToolCallUpdate): ConversationItem & ToolItem {
    endText();
    const id = `tool_${call.toolCallId}`;
    const before = items.get(id);
    const old = before?.kind === "tool" ? before : null;
    const item: ConversationItem & ToolItem = {
      id,
      atMs: old?.atMs ?? Date.now(),
      kind: "tool",
      title: (call.title ?? old?.title ?? call.name ?? "Tool").replaceAll(`${workspace}/`, "").slice(0, 500),
      toolKind: toolKindOf(call.kind ?? old?.toolKind),
      status: statusOf(call.status) ?? old?.status ?? "pending",
      locations:
        call.locations?.slice(0, 50).map(({ path, line }) => ({ path: shorten(path), ...(line ? { line } : {}) })) ?? old?.locations ?? [],
      content: mergeContent(old?.content ?? [], call.content),
      ...inputOf(call.rawInput, old?.input),
    };
    put(item);
    return item;
  }

  // Diffs that we saw ourselves (files.ts of this folder) stay when the agent sends its own content.
  function mergeContent(old: ToolContent[], content: ToolCallContent[] | null | undefined): ToolContent[] {
    if (!content) return old;
    const fresh = content.slice(0, MAX_CONTENTS).flatMap((part) => convert(part));
    const told = new Set(fresh.flatMap((part) => (part.type === "diff" ? [part.path] : [])));
    return [...old.filter((part) => part.type === "diff" && !told.has(part.path)), ...fresh];
  }

  function convert(part: ToolCallContent): ToolContent[] {
    if (part.type === "diff") {
      const { path, oldText = null, newText } = part;
      const tooLarge = (oldText?.length ?? 0) + newText.length > MAX_DIFF;
      return [
        tooLarge
          ? { type: "text", text: `${shorten(path)} has changed (too large to show)` }
          : { type: "diff", path: shorten(path), oldText, newText },
      ];
    }
    if (part.type !== "content") return [];
    const shown = textOf(part.content);
    return shown === "" ? [] : [{ type: "text", text: cut(shown, MAX_TEXT) }];
  }

  function setPlan(entries: Extract<ConversationItem, { kind: "plan" }>["entries"]): void {
    const before = planId === null ? undefined : items.get(planId);
    const item = { id: before?.id ?? newItemId(), atMs: before?.atMs ?? Date.now(), kind: "plan" as const, entries: entries.slice(0, 200) };
    planId = item.id;
    put(item);
  }

  function add(item: NewItem): ConversationItem {
    endText();
    if (item.kind === "user") planId = null;
    const added = { ...item, id: newItemId(), atMs: Date.now() } as ConversationItem;
    put(added);
    return added;
  }

  function replace(item: ConversationItem): void {
    put(item);
  }

  function put(item: ConversationItem): void {
    if (items.size >= MAX_ITEMS && !items.has(item.id) && item.kind !== "notice") return;
    items.set(item.id, item);
    head.updatedAtMs = Date.now();
    told({ type: "item", conversationId, item }, item);
  }

  function changeHead(change: Partial<Conversation>): void {
    const before = JSON.stringify(head);
    Object.assign(head, change);
    if (JSON.stringify(head) === before) return;
    told({ type: "conversation", conversation: head }, null);
  }

  function endText(): void {
    text = null;
  }

  function shorten(path: string): string {
    return path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path;
  }
}

const newItemId = () => `item_${randomBytes(8).toString("hex")}`;

const cut = (text: string, max: number) => (text.length > max ? `${text.slice(0, max)}\n…` : text);

function textOf(content: ContentBlock): string {
  switch (content.type) {
    case "text":
      return content.text;
    case "resource_link":
      return `[${content.name}](${content.uri})`;
    case "resource":
      return "text" in content.resource ? String(content.resource.text) : content.resource.uri;
    default:
      return `[${content.type}]`;
  }
}

function statusOf(status: string | null | undefined): ToolItem["status"] | undefined {
  if (status === "in_progress") return "running";
  return status === "pending" || status === "completed" || status === "failed" ? status : undefined;
}

const TOOL_KINDS = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch"] as const;
const toolKindOf = (kind: string | undefined): ToolItem["toolKind"] => TOOL_KINDS.find((known) => known === kind) ?? "other";

function inputOf(raw: unknown, old: string | undefined): { input?: string } {
  if (raw === undefined || raw === null) return old === undefined ? {} : { input: old };
  return { input: cut(JSON.stringify(raw, null, 2), MAX_INPUT) };
}
