import type { EventEmitter } from "node:events";
import type { RequestSource } from "../http/server.ts";
import { trimMemory } from "./share-heap.ts";
import { uptimeMs } from "../io/uptime.ts";

// Long enough that the sandboxes of a pool that was just filled do not collect while callers use them.
const IDLE_MS = 60_000;
// A timer that fires so late fires after a pause, together with the first call of the resume, or on a busy machine.
const LATE_MS = 1000;
// A collection costs 27 ms of processor time. Thirty short commands, or the rehearsals of a sandbox that waits for its session, leave
// this much.
const WORTH_BYTES = 1024 * 1024;

export interface Collector {
  // The memory that the heap has.
  heapBytes(): number;
  collect(): void;
}

// Collects the garbage of a daemon that has had no call and no open connection of a page for a while. V8 collects when there is no room
// for more, so an idle daemon would keep what it does not need until it is used again.
export function collectWhenIdle(server: RequestSource, collector = collectorOfV8()): void {
  if (!collector) return;
  const idleMs = Number(process.env.BERTH_COLLECT_AFTER_MS ?? IDLE_MS);
  const { heapBytes, collect } = collector;
  let underWay = 0;
  let usedMs = uptimeMs();
  let keptBytes = heapBytes();
  const timer = setTimeout(check, idleMs).unref();

  function noteUse(): void {
    usedMs = uptimeMs();
    timer.refresh();
  }

  function check(): void {
    if (underWay > 0) return;
    if (uptimeMs() - usedMs > idleMs + LATE_MS) return noteUse();
    if (heapBytes() - keptBytes < WORTH_BYTES) return;
    collect();
    keptBytes = heapBytes();
  }

  const watch = (connection: EventEmitter): void => {
    underWay++;
    noteUse();
    connection.once("close", () => {
      underWay--;
      noteUse();
    });
  };
  server.on("request", (_request, response) => watch(response));
  server.on("upgrade", (_request, socket) => watch(socket));
}

// The flags of init.sh make `gc` global. Without a snapshot there is none.
function collectorOfV8(): Collector | undefined {
  const { gc } = globalThis;
  if (!gc) return undefined;
  const { getHeapStatistics } = process.getBuiltinModule("node:v8");
  return {
    heapBytes: () => getHeapStatistics().total_physical_size,
    collect() {
      // An ordinary collection does not return memory to the system.
      gc({ type: "major", flavor: "last-resort", execution: "sync" });
      trimMemory();
    },
  };
}
