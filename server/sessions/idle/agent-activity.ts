import type { SandboxId } from "@berth/contract";
import { SECOND, type Clock } from "../../clock.ts";
import { readDaemonActivity } from "../../daemon-link/daemon-activity.ts";
import type { DaemonLinks } from "../../daemon-link/daemon-links.ts";

// When the agent in a sandbox last worked, and how much the sandbox computes, as its daemon reports. Code in the sandbox may pretend to
// be the daemon: then the session runs until its timeout, which nothing in the sandbox can change.
export interface AgentActivity {
  // null if the agent has not worked, or if the daemon does not answer.
  lastMs(sandboxId: SandboxId): Promise<number | null>;
  // The processor time of the sandbox since its start, for drivers that do not measure it. null if the daemon does not know it.
  cpuMs(sandboxId: SandboxId): Promise<number | null>;
}

const ANSWER_TIMEOUT_MS = 3 * SECOND;

export function createAgentActivity({ links, clock }: { links: Pick<DaemonLinks, "request">; clock: Clock }): AgentActivity {
  const ask = (sandboxId: SandboxId) => readDaemonActivity(links, sandboxId, ANSWER_TIMEOUT_MS);
  return {
    async lastMs(sandboxId) {
      const { agentIdleMs } = await ask(sandboxId);
      return agentIdleMs !== null && agentIdleMs <= clock.now() ? clock.now() - agentIdleMs : null;
    },
    cpuMs: async (sandboxId) => (await ask(sandboxId)).cpuMs,
  };
}
