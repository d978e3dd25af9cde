import type { AgentMessage, Conversation, ConversationItem } from "@berth/contract/agent.ts";
import type { AgentState } from "@berth/contract/daemon.ts";

// What the page knows of the agent and its conversations, as plain data.
export interface AgentView {
  // null until the daemon has told.
  agent: AgentState | null;
  conversations: Conversation[];
  // The items of the conversations that were opened.
  items: Record<string, ConversationItem[]>;
  // The one that is shown; null: a new one that nothing was said in yet.
  current: string | null;
  // A prompt that is on its way: the daemon has not shown it yet.
  asking: { requestId: string; text: string; conversationId: string | null } | null;
  // A prompt that did not arrive, to be given back to the person.
  returned: string | null;
  // Why the last thing asked for was refused, in plain words.
  refusal: string | null;
}

export const noAgentView: AgentView = {
  agent: null,
  conversations: [],
  items: {},
  current: null,
  asking: null,
  returned: null,
  refusal: null,
};

// Every message of the daemon goes through here.
export function hearAgent(view: AgentView, message: AgentMessage): AgentView {
  switch (message.type) {
    case "hello":
      return greet(view, message.agent, message.conversations);
    case "agent":
      return { ...view, agent: message.agent };
    case "conversation":
      return { ...view, conversations: place(view.conversations, message.conversation) };
    case "deleted":
      return forget(view, message.conversationId);
    case "opened":
      return { ...view, items: { ...view.items, [message.conversationId]: message.items } };
    case "item":
      return withItems(arrived(view, message), message.conversationId, (items) => placeItem(items, message.item));
    case "append":
      return withItems(view, message.conversationId, (items) =>
        items.map((item) => (item.id === message.itemId ? grown(item, message.text) : item)),
      );
    case "turn":
      return view;
    case "created":
      return created(view, message.requestId, message.conversation);
    case "refused":
      return refused(view, message.requestId, message.message);
  }
}

// After a reconnect everything is told anew; what was shown stays shown when it still exists.
function greet(view: AgentView, agent: AgentState, conversations: Conversation[]): AgentView {
  const current = conversations.some(({ id }) => id === view.current) ? view.current : null;
  // Whether a prompt that was on its way arrived is not known: better twice in sight than lost.
  return { ...view, agent, conversations, current, items: {}, asking: null, returned: view.asking?.text ?? view.returned };
}

function arrived(view: AgentView, { conversationId, item }: { conversationId: string; item: ConversationItem }): AgentView {
  return item.kind === "user" && view.asking?.conversationId === conversationId ? { ...view, asking: null } : view;
}

function refused(view: AgentView, requestId: string | undefined, refusal: string): AgentView {
  const mine = view.asking !== null && view.asking.requestId === requestId;
  return mine ? { ...view, asking: null, returned: view.asking?.text ?? null, refusal } : { ...view, refusal };
}

function created(view: AgentView, requestId: string, conversation: Conversation): AgentView {
  const conversations = place(view.conversations, conversation);
  const mine = view.asking?.requestId === requestId;
  const items = { [conversation.id]: [], ...view.items };
  return mine ? { ...view, conversations, items, current: conversation.id, asking: null } : { ...view, conversations };
}

function forget(view: AgentView, id: string): AgentView {
  const { [id]: _gone, ...items } = view.items;
  return {
    ...view,
    items,
    conversations: view.conversations.filter((conversation) => conversation.id !== id),
    current: view.current === id ? null : view.current,
  };
}

// The last used comes first.
const place = (conversations: Conversation[], changed: Conversation): Conversation[] =>
  [changed, ...conversations.filter(({ id }) => id !== changed.id)].toSorted((a, b) => b.updatedAtMs - a.updatedAtMs);

function withItems(view: AgentView, id: string, change: (items: ConversationItem[]) => ConversationItem[]): AgentView {
  const items = view.items[id];
  return items === undefined ? view : { ...view, items: { ...view.items, [id]: change(items) } };
}

const placeItem = (items: ConversationItem[], item: ConversationItem): ConversationItem[] =>
  items.some(({ id }) => id === item.id) ? items.map((old) => (old.id === item.id ? item : old)) : [...items, item];

const grown = (item: ConversationItem, text: string): ConversationItem =>
  item.kind === "assistant" || item.kind === "thought" ? { ...item, text: item.text + text } : item;
