import { join } from "node:path";
import type { SessionUpdate, ToolCallContent } from "@agentclientprotocol/sdk";
import type { ConversationItem, ToolContent, ToolItem } from "@berth/contract/agent.ts";

// Turns the items of one conversation into updates of the Agent Client Protocol, for one client. It remembers what the client has, because
// an item comes again as a whole when it changes, and the protocol only adds to a text.
export interface ItemUpdates {
  item(item: ConversationItem): SessionUpdate[];
  append(itemId: string, text: string): SessionUpdate[];
  // Until disposed, the next message of a person with this text is the client's own, which has shown it already.
  expectOwn(text: string): Disposable;
}

type Chunk = Extract<SessionUpdate, { sessionUpdate: "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk" }>;

// How much of a text the client has: its length, and its end to recognise another text.
interface SentText {
  kind: Chunk["sessionUpdate"];
  length: number;
  end: string;
}

const END_LENGTH = 64;
const CHUNKS = { assistant: "agent_message_chunk", thought: "agent_thought_chunk", user: "user_message_chunk" } as const;

export function createItemUpdates(workspace: string): ItemUpdates {
  const texts = new Map<string, SentText>();
  const tools = new Set<string>();
  const own: string[] = [];

  function chunk(id: string, kind: Chunk["sessionUpdate"], text: string): SessionUpdate[] {
    const { length, end } = texts.get(id) ?? { length: 0, end: "" };
    // A text that was replaced cannot be taken back.
    const more = text.slice(0, length).endsWith(end) ? text.slice(length) : "";
    return send(id, kind, { length: length + more.length, end: text.slice(0, length + more.length) }, more);
  }

  function send(id: string, kind: Chunk["sessionUpdate"], { length, end }: Omit<SentText, "kind">, more: string): SessionUpdate[] {
    if (more === "") return [];
    texts.set(id, { kind, length, end: end.slice(-END_LENGTH) });
    return [{ sessionUpdate: kind, content: { type: "text", text: more }, messageId: id }];
  }

  function tool(id: string, item: ToolItem): SessionUpdate[] {
    const call = {
      toolCallId: id,
      title: item.title,
      kind: item.toolKind,
      status: item.status === "running" ? ("in_progress" as const) : item.status,
      locations: item.locations.map(({ path, line }) => ({ path: absolute(path), ...(line === undefined ? {} : { line }) })),
      content: item.content.map(toContent),
      ...inputOf(item.input),
    };
    const isNew = !tools.has(id);
    tools.add(id);
    return [isNew ? { sessionUpdate: "tool_call", ...call } : { sessionUpdate: "tool_call_update", ...call }];
  }

  function forgetOwn(text: string): boolean {
    const at = own.indexOf(text);
    if (at >= 0) own.splice(at, 1);
    return at >= 0;
  }

  const absolute = (path: string) => (path.startsWith("/") ? path : join(workspace, path));

  function toContent(part: ToolContent): ToolCallContent {
    if (part.type === "text") return { type: "content", content: { type: "text", text: part.text } };
    const lines = part.hunks.flatMap((hunk) => hunk.lines);
    const textWithout = (kind: "added" | "removed") => lines.flatMap((line) => (line.kind === kind ? [] : `${line.text}\n`)).join("");
    return { type: "diff", path: absolute(part.path), oldText: textWithout("added"), newText: textWithout("removed") };
  }

  return {
    item(item) {
      switch (item.kind) {
        case "user": {
          if (!texts.has(item.id) && forgetOwn(item.text))
            texts.set(item.id, { kind: CHUNKS.user, length: item.text.length, end: item.text.slice(-END_LENGTH) });
          return chunk(item.id, CHUNKS.user, item.text);
        }
        case "assistant":
        case "thought":
          return chunk(item.id, CHUNKS[item.kind], item.text);
        case "tool":
          return tool(item.id, item);
        case "plan":
          return [
            { sessionUpdate: "plan", entries: item.entries.map(({ text, status, priority }) => ({ content: text, status, priority })) },
          ];
        // The client has no form for them, so a person answers in the workspace.
        case "form":
        case "url":
          return chunk(item.id, CHUNKS.assistant, `The agent asks: ${item.title}. Answer in the workspace.\n`);
        case "restore":
          return chunk(item.id, CHUNKS.assistant, `${item.text}\n`);
        case "notice":
          return item.level === "info" ? [] : chunk(item.id, CHUNKS.assistant, `${item.text}\n`);
        // Permissions are requests of their own (remote-client.ts), and the client sees changed files itself, if it can.
        default:
          return [];
      }
    },
    append(itemId, text) {
      const known = texts.get(itemId);
      return known ? send(itemId, known.kind, { length: known.length + text.length, end: known.end + text }, text) : [];
    },
    expectOwn(text) {
      own.push(text);
      return { [Symbol.dispose]: () => void forgetOwn(text) };
    },
  };
}

// The input is cut off if it is long, and then it is no JSON.
function inputOf(input: string | undefined): { rawInput?: unknown } {
  try {
    return input === undefined ? {} : { rawInput: JSON.parse(input) as unknown };
  } catch {
    return {};
  }
}
