import type { AgentMessage, AgentSession, Conversation, ConversationItem, Prompt } from "@berth/contract/agent.ts";
import type { AgentState } from "@berth/contract/daemon.ts";

export interface AgentView {
  // Null until the daemon reports it.
  agent: AgentState | null;
  conversations: Conversation[];
  // The items of the opened conversations.
  items: Record<string, ConversationItem[]>;
  // Conversations that the agent has and the daemon does not.
  sessions: AgentSession[];
  // The request to open one of them.
  adopting: string | null;
  // The conversation on screen, or null for a new one.
  current: string | null;
  // The new conversation that the daemon has prepared for this page. It is in `conversations`, but not in the list on screen.
  prepared: string | null;
  // The request for it.
  preparing: string | null;
  // A prompt that the daemon has not confirmed yet.
  pendingPrompt: { requestId: string; prompt: Prompt; conversationId: string | null } | null;
  // A prompt to put into the message box: it may not have arrived, or the person edits it.
  returnedPrompt: Prompt | null;
  // The message that the person edits, and whether the files are restored before it is sent again.
  editing: { itemId: string; restore: boolean } | null;
  // Why the daemon rejected the last command.
  refusal: string | null;
}

export const initialAgentView: AgentView = {
  agent: null,
  conversations: [],
  items: {},
  sessions: [],
  adopting: null,
  current: null,
  prepared: null,
  preparing: null,
  pendingPrompt: null,
  returnedPrompt: null,
  editing: null,
  refusal: null,
};

// Every message from the daemon goes through here.
export function updateAgentView(view: AgentView, message: AgentMessage): AgentView {
  switch (message.type) {
    case "hello":
      return connected(view, message.agent, message.conversations);
    case "agent":
      return { ...view, agent: message.agent };
    case "conversation": {
      const { id, busy } = message.conversation;
      const prepared = view.prepared === id && busy ? null : view.prepared;
      return queueConfirmed({ ...view, prepared, conversations: withConversation(view.conversations, message.conversation) }, id);
    }
    case "deleted":
      return withoutConversation(view, message.conversationId);
    case "opened":
      return { ...view, items: { ...view.items, [message.conversationId]: message.items } };
    case "item":
      return changeItems(promptConfirmed(view, message), message.conversationId, (items) => withItem(items, message.item));
    case "append":
      return changeItems(view, message.conversationId, (items) =>
        items.map((item) => (item.id === message.itemId ? withText(item, message.text) : item)),
      );
    case "turn":
      return view;
    case "created":
      return created(view, message.requestId, message.conversation);
    case "sessions":
      return { ...view, sessions: message.sessions };
    case "refused":
      return refused(view, message.requestId, message.message);
  }
}

// After a reconnect the daemon sends everything again. The conversation on screen stays if it still exists.
function connected(view: AgentView, agent: AgentState, conversations: Conversation[]): AgentView {
  const current = conversations.some(({ id }) => id === view.current) ? view.current : null;
  // The pending prompt may or may not have arrived. Showing it twice is better than losing it.
  const returnedPrompt = view.pendingPrompt?.prompt ?? view.returnedPrompt;
  return { ...view, agent, conversations, current, items: {}, prepared: null, preparing: null, pendingPrompt: null, returnedPrompt };
}

function promptConfirmed(view: AgentView, { conversationId, item }: { conversationId: string; item: ConversationItem }): AgentView {
  return item.kind === "user" && view.pendingPrompt?.conversationId === conversationId ? { ...view, pendingPrompt: null } : view;
}

// A busy conversation confirms a prompt by the length of its queue.
function queueConfirmed(view: AgentView, id: string): AgentView {
  const { pendingPrompt, conversations } = view;
  if (pendingPrompt?.conversationId !== id) return view;
  const isQueued = conversations.find((each) => each.id === id)?.queue.at(-1)?.text === pendingPrompt.prompt.text;
  return isQueued ? { ...view, pendingPrompt: null } : view;
}

function refused(view: AgentView, requestId: string | undefined, refusal: string): AgentView {
  const { pendingPrompt } = view;
  const adopting = view.adopting === requestId ? null : view.adopting;
  if (pendingPrompt === null || pendingPrompt.requestId !== requestId) return { ...view, adopting, refusal };
  return { ...view, pendingPrompt: null, returnedPrompt: pendingPrompt.prompt, refusal };
}

// Shows the new conversation if this page started it.
function created(view: AgentView, requestId: string, conversation: Conversation): AgentView {
  const conversations = withConversation(view.conversations, conversation);
  if (view.preparing === requestId) {
    const isShown = view.current === null && view.pendingPrompt === null;
    return { ...view, conversations, preparing: null, prepared: conversation.id, current: isShown ? conversation.id : view.current };
  }
  if (view.adopting === requestId) return { ...view, conversations, adopting: null, sessions: [], current: conversation.id };
  if (view.pendingPrompt?.requestId !== requestId) return { ...view, conversations };
  return { ...view, conversations, items: { [conversation.id]: [], ...view.items }, current: conversation.id, pendingPrompt: null };
}

function withoutConversation(view: AgentView, id: string): AgentView {
  const { [id]: _removed, ...items } = view.items;
  return {
    ...view,
    items,
    conversations: view.conversations.filter((conversation) => conversation.id !== id),
    current: view.current === id ? null : view.current,
  };
}

// Most recently used first.
const withConversation = (conversations: Conversation[], changed: Conversation): Conversation[] =>
  [changed, ...conversations.filter(({ id }) => id !== changed.id)].toSorted((a, b) => b.updatedAtMs - a.updatedAtMs);

function changeItems(view: AgentView, id: string, change: (items: ConversationItem[]) => ConversationItem[]): AgentView {
  const items = view.items[id];
  return items === undefined ? view : { ...view, items: { ...view.items, [id]: change(items) } };
}

const withItem = (items: ConversationItem[], item: ConversationItem): ConversationItem[] =>
  items.some(({ id }) => id === item.id) ? items.map((old) => (old.id === item.id ? item : old)) : [...items, item];

const withText = (item: ConversationItem, text: string): ConversationItem =>
  item.kind === "assistant" || item.kind === "thought" ? { ...item, text: item.text + text } : item;
