import { useStore } from "zustand";
import { usePage, useSandbox, useSession } from "./context.ts";
import { createAgent, type Agent } from "./sandbox/agent.ts";

type AgentStoreState = ReturnType<Agent["store"]["getState"]>;

// The agent of the workspace. Only the agent panel uses it, so it is in the panel's chunk.
export function useAgent(): Agent {
  const { notices } = usePage();
  const { agentLink, api } = useSandbox();
  const { mayEdit } = useSession();
  return agentLink.open(() => createAgent({ api, notices, mayEdit }));
}

// Selects a value of the agent. The component renders again only when this value changes.
export const useAgentState = <Value>(select: (state: AgentStoreState) => Value): Value => useStore(useAgent().store, select);
