import type { SandboxId } from "@berth/contract";
import { RelayRefusal } from "./relay-refusal.ts";

// How many requests of a sandbox are relayed at once.
export interface Concurrency {
  // Throws at the limit. Dispose of the result when the request is over.
  take(sandboxId: SandboxId): Disposable;
}

export function createConcurrency(max: number): Concurrency {
  const taken = new Map<SandboxId, number>();
  return {
    take(sandboxId) {
      const count = taken.get(sandboxId) ?? 0;
      if (count >= max) throw new RelayRefusal(429, "Too many requests of this sandbox are relayed at once. Try again in a moment.");
      taken.set(sandboxId, count + 1);
      return {
        [Symbol.dispose]() {
          const left = taken.get(sandboxId)! - 1;
          if (left === 0) taken.delete(sandboxId);
          else taken.set(sandboxId, left);
        },
      };
    },
  };
}
