import { createStore } from "zustand/vanilla";
import type { AgentCommand, AgentMessage } from "@berth/contract/agent.ts";
import type { AgentState } from "@berth/contract/daemon.ts";
import type { Api } from "../../connection/api.ts";
import { connectSocket, type ReconnectingSocket } from "../../connection/socket.ts";
import type { Notices } from "../page/notices.ts";
import { hearAgent, noAgentView, type AgentView } from "./conversations.ts";

export type Agent = ReturnType<typeof createAgent>;

// The agent as the page uses it. The line to it is opened when its panel is first seen.
export function createAgent({ api, notices }: { api: Api; notices: Notices }) {
  const store = createStore<AgentView & { online: boolean }>(() => ({ ...noAgentView, online: false }));
  let socket: ReconnectingSocket | null = null;

  function say(command: AgentCommand): boolean {
    const said = socket?.send(JSON.stringify(command)) ?? false;
    if (!said) notices.info("The agent cannot be reached at the moment. Try again when the connection is back.");
    return said;
  }

  function hear(message: AgentMessage): void {
    store.setState((view) => hearAgent(view, message));
    if (message.type !== "hello") return;
    const { current, conversations } = store.getState();
    store.setState({ online: true });
    show(current ?? conversations[0]?.id ?? null);
  }

  function show(id: string | null): void {
    const { current, items } = store.getState();
    if (current !== null && current !== id) say({ type: "close", conversationId: current });
    store.setState({ current: id, refusal: null });
    if (id !== null && items[id] === undefined) say({ type: "open", conversationId: id });
  }

  return {
    store,
    show,
    connect() {
      socket ??= connectSocket({
        url: () => api.socketUrl("agent/stream"),
        onText: (text) => hear(JSON.parse(text) as AgentMessage),
        onDown: () => store.setState({ online: false }),
      });
    },
    prod: () => socket?.prod(),
    renew: () => socket?.renew(),
    stateHeard: (agent: AgentState) => store.setState({ agent }),
    // Whether the prompt went out; when not, the person keeps the text.
    prompt(text: string): boolean {
      const { current } = store.getState();
      const requestId = crypto.randomUUID();
      if (!say({ type: "prompt", requestId, text, ...(current === null ? {} : { conversationId: current }) })) return false;
      store.setState({ refusal: null, asking: { requestId, text, conversationId: current } });
      return true;
    },
    // What did not arrive, once.
    takeReturned(): string | null {
      const { returned } = store.getState();
      if (returned !== null) store.setState({ returned: null });
      return returned;
    },
    cancel: (conversationId: string) => say({ type: "cancel", conversationId }),
    answer: (conversationId: string, itemId: string, optionId: string) => say({ type: "answer", conversationId, itemId, optionId }),
    setMode: (conversationId: string, modeId: string) => say({ type: "mode", conversationId, modeId }),
    remove: (conversationId: string) => say({ type: "delete", conversationId }),
    start: () =>
      notices.attempt("Could not start the agent", async () =>
        store.setState({ agent: await api.json<AgentState>("api/agent/start", "POST") }),
      ),
  };
}
