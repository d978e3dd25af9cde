import { appendFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Conversation, ConversationItem } from "@berth/contract/agent.ts";
import { isStringArray } from "../../http/body.ts";
import { listNames } from "../../io/read-or-empty.ts";
import { replaceFile } from "../../io/replace-file.ts";

// Saves conversations to disk, one file each, with one line per change. The last line for an item is its current version. A
// crash loses at most the last line.
export interface ConversationStore {
  load(): SavedConversation[];
  append(saved: Omit<SavedConversation, "items">, changed: ConversationItem[]): void;
  remove(id: string): void;
}

export interface SavedConversation {
  head: Conversation;
  // The agent's own id of the conversation, which it needs to load it again; null before the first prompt.
  sessionId: string | null;
  // The choices of a person: mode, model, options.
  chosen: string[];
  items: ConversationItem[];
}

type Line = Omit<SavedConversation, "items"> | { item: ConversationItem };

export function openConversationStore(folder: string): ConversationStore {
  const fileOf = (id: string) => join(folder, `${id}.jsonl`);

  return {
    load() {
      return listNames(folder).flatMap((name) => {
        const saved = name.endsWith(".jsonl") ? parse(join(folder, name)) : null;
        if (saved && saved.lines > 2 * saved.items.length + 10) compact(fileOf(saved.head.id), saved);
        return saved ?? [];
      });
    },
    append(saved, changed) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const lines: Line[] = [...changed.map((item) => ({ item })), saved];
      appendFileSync(fileOf(saved.head.id), toText(lines), { mode: 0o600, flush: true });
    },
    remove: (id) => rmSync(fileOf(id), { force: true }),
  };
}

const toText = (lines: Line[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

function compact(path: string, { head, sessionId, chosen, items }: SavedConversation): void {
  replaceFile(path, [Buffer.from(toText([...items.map((item) => ({ item })), { head, sessionId, chosen }]))], { sync: true });
}

// The user can write to this folder, so its files are untrusted. Returns null for an invalid file.
function parse(path: string): (SavedConversation & { lines: number }) | null {
  let saved: Omit<SavedConversation, "items"> | null = null;
  const items = new Map<string, ConversationItem>();
  let lines = 0;
  try {
    for (const text of readFileSync(path, "utf8").split("\n")) {
      const line = parseLine(text);
      lines++;
      if (line && "head" in line) saved = line;
      else if (line?.item.id) items.set(line.item.id, line.item);
    }
  } catch {
    return null;
  }
  if (!saved || !/^conv_[0-9a-f]{16}$/.test(saved.head.id)) return null;
  // A conversation of an earlier version lacks these fields.
  const {
    models = null,
    options = [],
    commands = [],
    queue = [],
    renamed = false,
    alwaysAllowed = [],
  } = saved.head as Partial<Conversation>;
  const head = { ...saved.head, models, options, commands, queue, renamed, alwaysAllowed, busy: false, modelWait: null, rules: [] };
  const chosen = isStringArray(saved.chosen) ? saved.chosen : [];
  return { ...saved, head, chosen, items: [...items.values()].map(upgrade), lines };
}

// The turn of a question that was waiting ended with the daemon. Tools of an earlier version have diffs with two texts instead of hunks.
function upgrade(item: ConversationItem): ConversationItem {
  if ("outcome" in item && item.outcome === null) return { ...item, outcome: { type: "cancelled" } };
  if (item.kind !== "tool") return item;
  const content = item.content.filter((part) => part.type !== "diff" || Array.isArray(part.hunks));
  return content.length === item.content.length ? item : { ...item, content };
}

function parseLine(text: string): Line | null {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return null;
  }
}
