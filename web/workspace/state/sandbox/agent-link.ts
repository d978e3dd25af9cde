import type { AgentState } from "@berth/contract/daemon.ts";
import type { Agent } from "./agent.ts";

// Connects the page with the agent's part of it, which is loaded with the agent panel.
export function createAgentLink() {
  let agent: Agent | null = null;
  let lastState: AgentState | null = null;
  return {
    // The same agent every time.
    open(create: () => Agent): Agent {
      if (agent) return agent;
      agent = create();
      if (lastState) agent.update(lastState);
      return agent;
    },
    update(state: AgentState): void {
      lastState = state;
      agent?.update(state);
    },
    retryNow: () => agent?.retryNow(),
    reconnect: () => agent?.reconnect(),
  };
}
