import { setTimeout as sleep } from "node:timers/promises";
import { AppError, type SandboxId } from "@berth/contract";
import type { Containers, ContainerStatus } from "./containers.ts";

// Pauses and unpauses containers, and corrects the status that the Engine reports. After each change the Engine gets an event from
// containerd and sets the status again. If that event is late, the Engine reports a container as paused that was unpaused in the
// meantime, or the reverse, and refuses the next change. Therefore, for a while after a change, the change counts and not the
// reported status.
export interface Freezer {
  // No-op if the container is paused or does not run.
  freeze(id: SandboxId, signal: AbortSignal): Promise<void>;
  // No-op if the container is not paused.
  thaw(id: SandboxId, signal: AbortSignal): Promise<void>;
  // The actual status, given the status that the Engine reports.
  actualStatus(id: SandboxId, reported: ContainerStatus | undefined): ContainerStatus | undefined;
  // To be called when the container ends or starts, because late events of the earlier run no longer count.
  forget(id: SandboxId): void;
}

const POLL_MS = 50;

// An event of containerd may be late by `lateEventMs`.
export function createFreezer(containers: Pick<Containers, "status" | "tryAction">, lateEventMs: number): Freezer {
  const changes = new Map<SandboxId, { paused: boolean; atMs: number }>();

  function recentChange(id: SandboxId): { paused: boolean } | undefined {
    const change = changes.get(id);
    if (!change || performance.now() - change.atMs < lateEventMs) return change;
    changes.delete(id);
    return undefined;
  }

  function actualStatus(id: SandboxId, reported: ContainerStatus | undefined): ContainerStatus | undefined {
    const change = recentChange(id);
    if (!change || (reported !== "running" && reported !== "paused")) return reported;
    return change.paused ? "paused" : "running";
  }

  async function tryAction(id: SandboxId, action: "pause" | "unpause", signal: AbortSignal): Promise<boolean> {
    try {
      return await containers.tryAction(id, action, signal);
    } catch (error) {
      // The outcome is unknown, so only the Engine can tell the status now.
      changes.delete(id);
      throw error;
    }
  }

  async function change(id: SandboxId, action: "pause" | "unpause", signal: AbortSignal): Promise<void> {
    const paused = action === "pause";
    for (let refused = false; ; refused = true) {
      if (actualStatus(id, await containers.status(id, signal)) !== (paused ? "running" : "paused")) return;
      const mayBeStale = recentChange(id) !== undefined;
      if (refused && !mayBeStale) throw new AppError("sandbox_failed", { cause: new Error(`docker: the Engine refuses to ${action}`) });
      if (await tryAction(id, action, signal)) {
        changes.set(id, { paused, atMs: performance.now() });
        return;
      }
      // The Engine refuses because of a stale status. Retry until the next event corrects it.
      if (mayBeStale) await sleep(POLL_MS, undefined, { signal });
    }
  }

  return {
    freeze: (id, signal) => change(id, "pause", signal),
    thaw: (id, signal) => change(id, "unpause", signal),
    actualStatus,
    forget: (id) => void changes.delete(id),
  };
}
