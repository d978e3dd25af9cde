import { randomBytes } from "node:crypto";
import type { AgentMessage, Conversation, ConversationItem, PlanEntry, ToolItem } from "@berth/contract/agent.ts";
import type { SessionUpdate, ToolCallUpdate } from "@agentclientprotocol/sdk";
import { commandsOf, modelsOf, modesOf, optionsOf } from "./offers.ts";
import { compactionId, compactionNotice, noticeOf } from "./notices.ts";
import { planOf, textOf, toolItem } from "./tool-item.ts";

// One conversation as it grows. It turns the agent's updates into items, and reports every change as a message.
export interface LiveConversation {
  readonly head: Conversation;
  readonly items: ReadonlyMap<string, ConversationItem>;
  apply(update: SessionUpdate): void;
  // A message of a person, or the next part of it, which the agent repeats.
  said(text: string): void;
  add(item: NewItem): ConversationItem;
  // Adds it at the end if there is none with its id.
  replace(item: ConversationItem): void;
  // Shows an item to those who are watching, and keeps nothing.
  preview(item: ConversationItem): void;
  // The item of a tool call. Created here if the agent asks for permission before it has announced the call.
  tool(call: ToolCallUpdate): ConversationItem & ToolItem;
  // The agent's messages about a tool call so far. null if there are none.
  saidAbout(toolCallId: string): ToolCallUpdate | null;
  changeHead(change: Partial<Conversation>): void;
  // Makes the next text a new item.
  endText(): void;
  // Whether the maximum number of items is reached. Further items are dropped.
  readonly full: boolean;
}

export type NewItem = ConversationItem extends infer Item ? (Item extends ConversationItem ? Omit<Item, "id" | "atMs"> : never) : never;

export interface ConversationOptions {
  head: Conversation;
  items: ConversationItem[];
  // Absolute paths inside this folder are made relative to it.
  workspace: string;
  // The agent's text as people may see it.
  clean: (text: string) => string;
  onChange: (message: AgentMessage, changed: ConversationItem | null) => void;
}

const MAX_TEXT = 64 * 1024;
const MAX_ITEMS = 5000;
const MAX_ADDRESS = 300;

export function createConversation({ head, items: known, workspace, clean, onChange }: ConversationOptions): LiveConversation {
  const items = new Map(known.map((item) => [item.id, item]));
  const conversationId = head.id;
  let text: { item: ConversationItem & { kind: "assistant" | "thought" }; said: string; messageId: string | null } | null = null;
  let planId: string | null = null;
  // The complete inputs of running tools; an item only has a shortened one.
  const rawInputs = new Map<string, unknown>();

  return {
    head,
    items,
    apply,
    said,
    add,
    replace,
    preview: (item) => onChange({ type: "item", conversationId, item }, null),
    tool,
    saidAbout,
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
      case "tool_call_update": {
        tool(update);
        const plan = planOf(update);
        return plan ? setPlan(plan) : undefined;
      }
      case "plan":
        return setPlan(update.entries.map(({ content, status, priority }) => ({ text: content, status, priority })));
      case "current_mode_update":
        if (head.modes) changeHead({ modes: { ...head.modes, current: update.currentModeId } });
        return;
      case "config_option_update": {
        const [modes, models] = [modesOf(update), modelsOf(update)];
        // A conversation without models has none because the server decides about the model.
        const options = optionsOf(update.configOptions, head.models);
        return changeHead({ modes: modes ?? head.modes, models: head.models && (models ?? head.models), options });
      }
      case "available_commands_update":
        return changeHead({ commands: commandsOf(update.availableCommands) });
      case "session_info_update":
        if (update.title && !head.renamed) changeHead({ title: update.title.slice(0, 200) });
        return;
      case "usage_update":
        changeHead({
          usage: { ...head.usage, contextUsed: update.used, contextSize: update.size, ...(update.cost ? { cost: update.cost } : {}) },
        });
        return;
      case "notice":
        return note(newItemId(), noticeOf(update));
      case "compaction_update":
      case "compaction_summary_chunk": {
        const id = compactionId(update.compactionId);
        return note(id, compactionNotice(update, items.get(id)));
      }
      default:
        // Updates that the workspace does not show, and updates of newer protocol versions.
        return;
    }
  }

  function note(id: string, notice: Omit<ConversationItem & { kind: "notice" }, "id" | "atMs">): void {
    const old = items.get(id);
    // Unlike ours, the notices of an agent could fill the memory.
    if (items.size >= MAX_ITEMS && !old) return;
    endText();
    put({ ...notice, text: clean(notice.text), id, atMs: old?.atMs ?? Date.now() });
  }

  function said(more: string): void {
    const last = [...items.values()].at(-1);
    if (last?.kind === "user") return put({ ...last, text: last.text + more });
    add({ kind: "user", text: more });
  }

  function addText(kind: "assistant" | "thought", more: string, messageId: string | null): void {
    if (more === "") return;
    // Split a very long text into several items, so that no item grows without bound.
    if (text?.item.kind === kind && text.messageId === messageId && text.item.text.length < MAX_TEXT) return continueText(text, more);
    const item = { id: newItemId(), atMs: Date.now(), kind, text: clean(more) };
    text = { item, said: more, messageId };
    put(item);
  }

  function continueText(current: NonNullable<typeof text>, more: string): void {
    const { item } = current;
    const end = current.said.slice(-MAX_ADDRESS) + more;
    current.said += more;
    // An address may arrive in parts.
    if (clean(end) !== end) {
      item.text = clean(current.said);
      return put(item);
    }
    item.text += more;
    head.updatedAtMs = Date.now();
    onChange({ type: "append", conversationId, itemId: item.id, text: more }, item);
  }

  function tool(call: ToolCallUpdate): ConversationItem & ToolItem {
    endText();
    const id = `tool_${call.toolCallId}`;
    const before = items.get(id);
    const old = before?.kind === "tool" ? before : null;
    const rawInput = call.rawInput ?? rawInputs.get(id);
    const item = { id, atMs: old?.atMs ?? Date.now(), ...cleanTool(toolItem({ ...call, rawInput }, old, workspace)) };
    if (item.status === "completed" || item.status === "failed") rawInputs.delete(id);
    else rawInputs.set(id, rawInput);
    put(item);
    return item;
  }

  function saidAbout(toolCallId: string): ToolCallUpdate | null {
    const id = `tool_${toolCallId}`;
    const item = items.get(id);
    if (item?.kind !== "tool") return null;
    const { toolKind: kind, locations } = item;
    return { toolCallId, kind, locations, rawInput: rawInputs.get(id) };
  }

  function cleanTool(item: ToolItem): ToolItem {
    const content = item.content.map((part) => (part.type === "text" ? { ...part, text: clean(part.text) } : part));
    return { ...item, title: clean(item.title), content };
  }

  function setPlan(entries: PlanEntry[]): void {
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
    onChange({ type: "item", conversationId, item }, item);
  }

  function changeHead(change: Partial<Conversation>): void {
    const before = JSON.stringify(head);
    Object.assign(head, change);
    if (JSON.stringify(head) === before) return;
    onChange({ type: "conversation", conversation: head }, null);
  }

  function endText(): void {
    text = null;
  }
}

export const newItemId = () => `item_${randomBytes(8).toString("hex")}`;
