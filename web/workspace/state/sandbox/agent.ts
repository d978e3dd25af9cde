import { createStore } from "zustand/vanilla";
import { randomId } from "../../browser/random-id.ts";
import type { AgentCommand, AgentMessage, ContextPart, Prompt, ReviewDecision } from "@berth/contract/agent.ts";
import type { QuestionAnswer } from "@berth/contract/questions.ts";
import type { AgentState } from "@berth/contract/daemon.ts";
import type { Api } from "../../connection/api.ts";
import { connectSocket, type ReconnectingSocket } from "../../connection/socket.ts";
import type { Notices } from "../page/notices.ts";
import { initialAgentView, updateAgentView, type AgentView } from "./conversations.ts";

export type Agent = ReturnType<typeof createAgent>;

// Attached to the message that is being written. The text itself is in the layout.
interface Attachments {
  context: ContextPart[];
  images: string[];
}

const nothingAttached: Attachments = { context: [], images: [] };

// The connection to the agent. It opens when the agent panel is first shown.
export function createAgent({ api, notices, mayEdit }: { api: Api; notices: Notices; mayEdit: boolean }) {
  const store = createStore<AgentView & Attachments & { online: boolean }>(() => ({
    ...initialAgentView,
    ...nothingAttached,
    online: false,
  }));
  let socket: ReconnectingSocket | null = null;

  // Returns whether the command was sent.
  function send(command: AgentCommand): boolean {
    const sent = socket?.send(JSON.stringify(command)) ?? false;
    if (!sent) notices.info("The agent cannot be reached. Try again when the workspace is reconnected.");
    return sent;
  }

  function receive(message: AgentMessage): void {
    const { current: before, prepared } = store.getState();
    store.setState((view) => updateAgentView(view, message));
    if (message.type === "agent" || message.type === "hello") findSessions();
    if (message.type !== "hello") return;
    const { current, conversations } = store.getState();
    store.setState({ online: true });
    show(current ?? (before !== null && before === prepared ? null : (conversations[0]?.id ?? null)));
  }

  function show(id: string | null): void {
    const { current, items } = store.getState();
    if (current !== null && current !== id) send({ type: "close", conversationId: current });
    store.setState({ current: id, refusal: null, editing: null });
    if (id === null) return void (mayEdit && prepare());
    if (items[id] === undefined) send({ type: "open", conversationId: id });
  }

  // Conversations that a person has had with the same agent elsewhere. A stopped agent is not started for them.
  function findSessions(): void {
    if (mayEdit && store.getState().agent?.status === "ready") socket?.send(JSON.stringify({ type: "sessions", requestId: randomId() }));
  }

  // The daemon answers with an empty conversation, in which the agent says what it offers.
  function prepare(): void {
    const requestId = randomId();
    if (send({ type: "prepare", requestId })) store.setState({ preparing: requestId });
  }

  const isBusy = (id: string | null) => store.getState().conversations.some((conversation) => conversation.id === id && conversation.busy);

  function sendPrompt(message: Prompt, more: { restoreItemId?: string } = {}): boolean {
    const { current } = store.getState();
    const requestId = randomId();
    const command: AgentCommand =
      current !== null && isBusy(current)
        ? { type: "queue", requestId, conversationId: current, ...message }
        : { type: "prompt", requestId, ...(current === null ? {} : { conversationId: current }), ...more, ...message };
    if (!send(command)) return false;
    store.setState({ refusal: null, pendingPrompt: { requestId, prompt: message, conversationId: current } });
    return true;
  }

  return {
    store,
    // The entries of a person in forms that are not answered, by item id.
    formDrafts: new Map<string, FormData>(),
    show,
    connect() {
      socket ??= connectSocket({
        url: () => api.socketUrl("agent/stream"),
        onText: (text) => receive(JSON.parse(text) as AgentMessage),
        onDisconnected: () => store.setState({ online: false }),
      });
    },
    retryNow: () => socket?.retryNow(),
    reconnect: () => socket?.reconnect(),
    update: (agent: AgentState) => store.setState({ agent }),
    attach: (part: ContextPart) => store.setState(({ context }) => ({ context: [...context.filter((each) => !isSame(each, part)), part] })),
    detach: (part: ContextPart) => store.setState(({ context }) => ({ context: context.filter((each) => !isSame(each, part)) })),
    async attachImage(image: Blob): Promise<void> {
      const response = await api.call("api/agent/images", { method: "POST", body: image });
      const { id } = (await response.json()) as { id: string };
      store.setState(({ images }) => ({ images: [...images, id] }));
    },
    detachImage: (id: string) => store.setState(({ images }) => ({ images: images.filter((each) => each !== id) })),
    imageUrl: (id: string) => api.imageUrl(id),
    // Sends a message, or queues it while the agent is busy. Returns whether that worked. If not, the person keeps the text.
    prompt(text: string): boolean {
      const { context, images, editing } = store.getState();
      const message: Prompt = { text, ...(context.length > 0 ? { context } : {}), ...(images.length > 0 ? { images } : {}) };
      const restore = editing?.restore ? { restoreItemId: editing.itemId } : {};
      const isSent = sendPrompt(message, restore);
      if (isSent) store.setState({ ...nothingAttached, editing: null });
      return isSent;
    },
    // Sends a message of the conversation a second time.
    retry: ({ text, context, images }: Prompt) => sendPrompt({ text, ...(context ? { context } : {}), ...(images ? { images } : {}) }),
    edit(itemId: string, message: Prompt, { restore }: { restore: boolean }): void {
      store.setState({ returnedPrompt: message, editing: { itemId, restore }, refusal: null });
    },
    setEditing: (editing: AgentView["editing"]) => store.setState({ editing }),
    unqueue: (conversationId: string, queuedId: string) => send({ type: "unqueue", conversationId, queuedId }),
    sendQueued: (conversationId: string, queuedId: string) => send({ type: "sendQueued", conversationId, queuedId }),
    restore: (conversationId: string, itemId: string) => send({ type: "restore", conversationId, itemId }),
    review: (
      conversationId: string,
      itemId: string,
      review: { path: string; hunks?: number[]; decision: ReviewDecision | "undecided" },
    ) => {
      store.setState({ refusal: null });
      send({ type: "review", conversationId, itemId, ...review });
    },
    // The message box shows the prompt from now on.
    takeReturnedPrompt(): Prompt | null {
      const { returnedPrompt } = store.getState();
      if (returnedPrompt === null) return null;
      const { context = [], images = [] } = returnedPrompt;
      store.setState({ returnedPrompt: null, context, images });
      return returnedPrompt;
    },
    dropReturnedPrompt: () => store.setState({ returnedPrompt: null }),
    cancel: (conversationId: string) => send({ type: "cancel", conversationId }),
    answer(conversationId: string, itemId: string, answer: QuestionAnswer): void {
      store.setState({ refusal: null });
      send({ type: "answer", conversationId, itemId, ...answer });
    },
    disallow: (conversationId: string, action: string) => send({ type: "disallow", conversationId, action }),
    rename: (conversationId: string, title: string) => send({ type: "rename", conversationId, title }),
    findSessions,
    adopt(sessionId: string): void {
      const requestId = randomId();
      if (send({ type: "adopt", requestId, sessionId })) store.setState({ adopting: requestId, refusal: null });
    },
    setOption: (conversationId: string, optionId: string, value: string | boolean) =>
      send({ type: "option", conversationId, optionId, value }),
    setMode: (conversationId: string, modeId: string) => send({ type: "mode", conversationId, modeId }),
    setModel: (conversationId: string, modelId: string) => send({ type: "model", conversationId, modelId }),
    remove: (conversationId: string) => send({ type: "delete", conversationId }),
    // Resolves with the terminal in which a person signs in; null if that failed.
    async signIn(methodId: string): Promise<string | null> {
      let terminalId: string | null = null;
      await notices.attempt("Could not open the sign-in", async () => {
        ({ terminalId } = await api.json<{ terminalId: string }>("api/agent/sign-in", "POST", { methodId }));
      });
      return terminalId;
    },
    start: () =>
      notices.attempt("Could not start the agent", async () =>
        store.setState({ agent: await api.json<AgentState>("api/agent/start", "POST") }),
      ),
  };
}

const isSame = (a: ContextPart, b: ContextPart): boolean =>
  a.path === b.path && a.selection?.fromLine === b.selection?.fromLine && a.selection?.toLine === b.selection?.toLine;
