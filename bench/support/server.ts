import { setTimeout as sleep } from "node:timers/promises";
import { prepareBerth, type Berth } from "../../tests/support/servers/berth.ts";
import type { Run } from "./benchmark.ts";
import { createCaller, type Caller } from "./caller.ts";

// The real server with real sandboxes, as a separate process.
export interface BenchServer extends AsyncDisposable {
  berth: Berth;
  caller: Caller;
  // Waits until the pool is full and no sandbox is being created or destroyed.
  settle(): Promise<void>;
}

const POLL_MS = 25;
// The states of rows that change no more by themselves.
const SETTLED = ["warm", "running", "paused", "hibernated"];

// `poolSize` is the number of warm sandboxes, and the rest are settings of the server. The default is the server's default.
export async function openServer(
  { resources }: Run,
  { poolSize = 2, env = {} }: { poolSize?: number; env?: Record<string, string> } = {},
): Promise<BenchServer> {
  const settings = { BERTH_LOG_LEVEL: "error", BERTH_DRIVER: "oci", BERTH_POOL_SIZE: String(poolSize), BERTH_POOL_MAX: "", ...env };
  const berth = resources.own(await prepareBerth(settings));
  await berth.start();
  const caller = createCaller(berth);
  const server: BenchServer = {
    berth,
    caller,
    async settle() {
      for (;;) {
        const metrics = await caller.call("GET", "/metrics", 200);
        const counts = countStates(metrics);
        // It follows the demand.
        const target = Number(/^berth_pool_target\{.*\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
        const warm = counts.get("warm") ?? 0;
        if (warm >= Math.max(poolSize, target) && [...counts].every(([state, count]) => count === 0 || SETTLED.includes(state))) return;
        await sleep(POLL_MS);
      }
    },
    async [Symbol.asyncDispose]() {
      caller[Symbol.dispose]();
      await berth[Symbol.asyncDispose]();
    },
  };
  await server.settle();
  return server;
}

function countStates(metrics: string): Map<string, number> {
  return new Map([...metrics.matchAll(/^berth_sessions\{state="(\w+)"\} (\d+)$/gm)].map(([, state, count]) => [state!, Number(count)]));
}
