import { randomBytes } from "node:crypto";
import type { AgentMessage, Conversation, ConversationItem, PermissionRule } from "@berth/contract/agent.ts";
import { AppError } from "@berth/contract/errors.ts";
import { notFound } from "../http/errors.ts";
import { openConversationStore, type SavedConversation } from "./conversations/conversation-store.ts";
import { createConversation } from "./conversations/conversation.ts";
import { createThread, type Thread, type Turn } from "./thread.ts";

// The conversations of the agent, in memory and on disk.
export interface Threads {
  all(): Thread[];
  // Without drafts.
  listed(): Thread[];
  // Throws if there is none.
  find(id: string): Thread;
  bySession(sessionId: string): Thread | undefined;
  turns(): Turn[];
  // Throws if there are too many.
  make(): Thread;
  // A conversation that is not listed before its first prompt: one that waits, or a new one.
  draft(): Thread;
  isDraft(id: string): boolean;
  // Forgets it, but leaves it on disk.
  drop(id: string): void;
  remove(id: string): void;
  // Writes unsaved changes to disk synchronously.
  save(): void;
}

export interface ThreadsDeps {
  folder: string;
  workspace: string;
  // Hides addresses of the sandbox in the agent's texts.
  clean: (text: string) => string;
  templateRules: () => PermissionRule[];
  onChange: (message: AgentMessage) => void;
}

const SAVE_AFTER_MS = 500;
const MAX_CONVERSATIONS = 200;

export function openThreads({ folder, workspace, clean, templateRules, onChange }: ThreadsDeps): Threads {
  const store = openConversationStore(folder);
  const threads = new Map<string, Thread>();
  const dirty = new Map<string, Set<ConversationItem>>();
  let saving: NodeJS.Timeout | null = null;

  for (const { head, ...saved } of store.load()) add({ ...saved, head: { ...head, rules: templateRules() } });

  return {
    all,
    listed,
    find(id) {
      const thread = threads.get(id);
      if (!thread) throw notFound("There is no such conversation");
      return thread;
    },
    bySession: (sessionId) => all().find((thread) => thread.sessionId === sessionId),
    turns: () => all().flatMap(({ turn }) => turn ?? []),
    make,
    draft() {
      const thread = all().find(({ draft }) => draft === "waiting") ?? make();
      thread.draft = "shown";
      return thread;
    },
    isDraft: (id) => (threads.get(id)?.draft ?? null) !== null,
    drop,
    remove(id) {
      drop(id);
      store.remove(id);
    },
    save,
  };

  function all(): Thread[] {
    return [...threads.values()];
  }

  function listed(): Thread[] {
    return all().filter(({ draft }) => draft === null);
  }

  function make(): Thread {
    if (listed().length >= MAX_CONVERSATIONS)
      throw new AppError("too_many", { message: `There are already ${MAX_CONVERSATIONS} conversations; delete one first` });
    const now = Date.now();
    const head: Conversation = {
      id: `conv_${randomBytes(8).toString("hex")}`,
      title: "New conversation",
      createdAtMs: now,
      updatedAtMs: now,
      busy: false,
      usage: null,
      modes: null,
      models: null,
      options: [],
      commands: [],
      queue: [],
      modelWait: null,
      renamed: false,
      alwaysAllowed: [],
      rules: templateRules(),
    };
    return add({ head, sessionId: null, chosen: [], items: [] });
  }

  function add({ head, sessionId, chosen, items }: SavedConversation): Thread {
    const live = createConversation({
      head,
      items,
      workspace,
      clean,
      onChange(message, item) {
        const changes = dirty.get(head.id) ?? new Set();
        if (item) changes.add(item);
        dirty.set(head.id, changes);
        saving ??= setTimeout(save, SAVE_AFTER_MS);
        onChange(message);
      },
    });
    const thread = createThread(live, sessionId, chosen);
    threads.set(head.id, thread);
    return thread;
  }

  function drop(id: string): void {
    threads.delete(id);
    dirty.delete(id);
  }

  function save(): void {
    if (saving) clearTimeout(saving);
    saving = null;
    for (const [id, changes] of dirty) {
      const thread = threads.get(id);
      if (thread?.draft) continue;
      // Write only the last version of an item that has been replaced.
      const items = [...new Set([...changes].map((item) => thread?.live.items.get(item.id) ?? item))];
      try {
        if (thread) store.append({ head: thread.live.head, sessionId: thread.sessionId, chosen: [...thread.chosen] }, items);
        dirty.delete(id);
      } catch (error) {
        // The disk may be full. The next change tries again.
        console.error("A conversation could not be saved:", error);
      }
    }
  }
}
