import { setTimeout as sleep } from "node:timers/promises";
import { AppError, type SandboxId } from "@berth/contract";
import type { Containers, ContainerStatus } from "./containers.ts";

// Pauses containers and lets them go on, and says what to believe about that. The Engine hears of each a second time, from
// containerd, and takes its word; when that is late, a container that goes on again is called paused for a moment, and one
// that was paused again is called running. So for some time what was done here last counts, and not what the Engine says.
export interface Freezer {
  // Content when it is so already, or when the container does not run: then there is no processor to take away or to give.
  set(id: SandboxId, frozen: boolean, signal: AbortSignal): Promise<void>;
  // What the Engine's word means.
  believe(id: SandboxId, said: ContainerStatus | undefined): ContainerStatus | undefined;
  // Its processes have ended, or will be new ones.
  forget(id: SandboxId): void;
}

const POLL_MS = 50;

export function createFreezer(containers: Pick<Containers, "status" | "act">, echoMs: number): Freezer {
  const lastActs = new Map<SandboxId, { frozen: boolean; atMs: number }>();

  function lastAct(id: SandboxId): { frozen: boolean } | undefined {
    const act = lastActs.get(id);
    if (!act || performance.now() - act.atMs < echoMs) return act;
    lastActs.delete(id);
    return undefined;
  }

  function believe(id: SandboxId, said: ContainerStatus | undefined): ContainerStatus | undefined {
    const act = lastAct(id);
    if (!act || (said !== "running" && said !== "paused")) return said;
    return act.frozen ? "paused" : "running";
  }

  async function act(id: SandboxId, action: "pause" | "unpause", signal: AbortSignal): Promise<boolean> {
    try {
      return await containers.act(id, action, signal);
    } catch (error) {
      // Whether it was done nobody knows but the Engine.
      lastActs.delete(id);
      throw error;
    }
  }

  return {
    believe,
    forget: (id) => void lastActs.delete(id),

    async set(id, frozen, signal) {
      const action = frozen ? "pause" : "unpause";
      for (let refused = false; ; refused = true) {
        if (believe(id, await containers.status(id, signal)) !== (frozen ? "running" : "paused")) return;
        const mayEcho = lastAct(id) !== undefined;
        if (refused && !mayEcho) throw new AppError("sandbox_failed", { cause: new Error(`docker: ${action} is refused`) });
        if (await act(id, action, signal)) {
          lastActs.set(id, { frozen, atMs: performance.now() });
          return;
        }
        // The echo of what was done before keeps the Engine from it, until it hears the next one.
        if (mayEcho) await sleep(POLL_MS, undefined, { signal });
      }
    },
  };
}
