import type { SandboxId } from "@berth/contract";
import type { DaemonActivity } from "@berth/contract/daemon.ts";
import { readAnswerText } from "../../daemon-link/link-errors.ts";
import type { DaemonLinks } from "../../daemon-link/daemon-links.ts";
import { SECOND, type Clock } from "../../clock.ts";

// When the agent in a sandbox last worked, and how much the sandbox computes. The daemon says so, and code in the sandbox may pretend to be the daemon: then the session
// runs until its timeout, which nothing in the sandbox can change.
export interface AgentActivity {
  // null if the agent has not worked, or if the daemon does not answer.
  lastMs(sandboxId: SandboxId): Promise<number | null>;
  // The processor time of the sandbox since its start, for drivers that do not measure it. null if the daemon does not know it.
  cpuMs(sandboxId: SandboxId): Promise<number | null>;
}

const ANSWER_TIMEOUT_MS = 3 * SECOND;

export function createAgentActivity({ links, clock }: { links: Pick<DaemonLinks, "request">; clock: Clock }): AgentActivity {
  async function ask(sandboxId: SandboxId): Promise<Partial<DaemonActivity>> {
    try {
      const answer = await links.request(sandboxId, {
        method: "GET",
        path: "/internal/activity",
        headersTimeoutMs: ANSWER_TIMEOUT_MS,
        bodyTimeoutMs: ANSWER_TIMEOUT_MS,
      });
      const text = await readAnswerText(answer.body);
      return answer.status === 200 ? ((JSON.parse(text) ?? {}) as Partial<DaemonActivity>) : {};
    } catch {
      return {};
    }
  }

  return {
    lastMs: async (sandboxId) => toTime(await ask(sandboxId), clock.now()),
    async cpuMs(sandboxId) {
      const { cpuMs } = await ask(sandboxId);
      return typeof cpuMs === "number" && cpuMs >= 0 ? cpuMs : null;
    },
  };
}

function toTime({ agentIdleMs }: Partial<DaemonActivity>, nowMs: number): number | null {
  return typeof agentIdleMs === "number" && agentIdleMs >= 0 && agentIdleMs <= nowMs ? nowMs - agentIdleMs : null;
}
