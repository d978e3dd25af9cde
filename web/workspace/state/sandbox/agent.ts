import { createStore } from "zustand/vanilla";
import { randomId } from "../../browser/random-id.ts";
import type { AgentCommand, AgentMessage } from "@berth/contract/agent.ts";
import type { AgentState } from "@berth/contract/daemon.ts";
import type { Api } from "../../connection/api.ts";
import { connectSocket, type ReconnectingSocket } from "../../connection/socket.ts";
import type { Notices } from "../page/notices.ts";
import { initialAgentView, updateAgentView, type AgentView } from "./conversations.ts";

export type Agent = ReturnType<typeof createAgent>;

// The connection to the agent. It opens when the agent panel is first shown.
export function createAgent({ api, notices }: { api: Api; notices: Notices }) {
  const store = createStore<AgentView & { online: boolean }>(() => ({ ...initialAgentView, online: false }));
  let socket: ReconnectingSocket | null = null;

  // Returns whether the command was sent.
  function send(command: AgentCommand): boolean {
    const sent = socket?.send(JSON.stringify(command)) ?? false;
    if (!sent) notices.info("The agent cannot be reached. Try again when the workspace is reconnected.");
    return sent;
  }

  function receive(message: AgentMessage): void {
    store.setState((view) => updateAgentView(view, message));
    if (message.type !== "hello") return;
    const { current, conversations } = store.getState();
    store.setState({ online: true });
    show(current ?? conversations[0]?.id ?? null);
  }

  function show(id: string | null): void {
    const { current, items } = store.getState();
    if (current !== null && current !== id) send({ type: "close", conversationId: current });
    store.setState({ current: id, refusal: null });
    if (id !== null && items[id] === undefined) send({ type: "open", conversationId: id });
  }

  return {
    store,
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
    // Returns whether the prompt was sent. If not, the person keeps the text.
    prompt(text: string): boolean {
      const { current } = store.getState();
      const requestId = randomId();
      if (!send({ type: "prompt", requestId, text, ...(current === null ? {} : { conversationId: current }) })) return false;
      store.setState({ refusal: null, pendingPrompt: { requestId, text, conversationId: current } });
      return true;
    },
    clearReturnedPrompt: () => store.setState({ returnedPrompt: null }),
    cancel: (conversationId: string) => send({ type: "cancel", conversationId }),
    answer: (conversationId: string, itemId: string, optionId: string) => send({ type: "answer", conversationId, itemId, optionId }),
    setMode: (conversationId: string, modeId: string) => send({ type: "mode", conversationId, modeId }),
    remove: (conversationId: string) => send({ type: "delete", conversationId }),
    start: () =>
      notices.attempt("Could not start the agent", async () =>
        store.setState({ agent: await api.json<AgentState>("api/agent/start", "POST") }),
      ),
  };
}
