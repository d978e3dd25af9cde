import { setImmediate as nextTurn } from "node:timers/promises";
import type { SandboxId } from "@berth/contract";
import { SECOND, type Clock } from "../clock.ts";
import { runWork } from "../event-loop/loop-work.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/open.ts";
import { addEgressHosts, type EgressHost } from "../store/session-logs/egress-hosts.ts";
import { ownersOf } from "../store/usage/counters.ts";

// Writes which hosts the sandboxes reached, or tried to. The egress proxy counts them in memory, and they are written together
// every FLUSH_MS. A crash loses at most these.
export interface EgressLog extends AsyncDisposable {
  flush(): Promise<void>;
}

export interface EgressLogDeps {
  store: Store;
  egress: { takeHosts(): ReadonlyMap<SandboxId, readonly EgressHost[]> };
  clock: Clock;
  log: Log;
}

const FLUSH_MS = 10 * SECOND;
const BATCH = 50;
const WORK = { name: "egress log" };

export function createEgressLog({ store, egress, clock, log }: EgressLogDeps): EgressLog {
  async function flush(): Promise<void> {
    const hosts = egress.takeHosts();
    const sandboxIds = [...hosts.keys()];
    for (let at = 0; at < sandboxIds.length; at += BATCH)
      for (const { sandboxId, owner } of await ownersOf(store.db, sandboxIds.slice(at, at + BATCH))) {
        await store.transaction((tx) => addEgressHosts(tx, owner.session_id, hosts.get(sandboxId) ?? []), { sync: "later" });
        await nextTurn();
      }
  }

  const flushSafely = () => runWork(WORK, flush).catch((error: unknown) => log.warn("egress.log_failed", { error: String(error) }));
  const timer = clock.every(FLUSH_MS, flushSafely);
  return {
    flush,
    async [Symbol.asyncDispose]() {
      await timer[Symbol.asyncDispose]();
      await flushSafely();
    },
  };
}
