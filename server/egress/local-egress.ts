import { rmSync } from "node:fs";
import { join } from "node:path";
import type { EgressPolicy, SandboxId } from "@berth/contract";
import type { Egress } from "./egress.ts";
import { createProxyFactory, type EgressCounters, type ProxyFactoryOptions, type SandboxProxy } from "./proxy/proxy-factory.ts";
import { createTrafficMeter } from "./proxy/traffic.ts";
import { listenInFolder } from "./socket-listener.ts";

export interface LocalEgressOptions extends ProxyFactoryOptions {
  dataDir: string;
}

// Egress for sandboxes on this machine. Each has a Unix socket of its own, `{dataDir}/egress/{sandboxId}/proxy.sock`; the
// driver mounts its folder read-only at /run/berth-egress. The socket identifies the sandbox, so there is nothing to forge.
export function createLocalEgress(options: LocalEgressOptions): Egress {
  const parent = join(options.dataDir, "egress");
  const { maxConnections = 256 } = options;
  const counters: EgressCounters = { allowed: 0, refused: 0 };
  const traffic = createTrafficMeter(options.clock);
  const createProxy = createProxyFactory(options, counters, traffic);
  const proxies = new Map<SandboxId, { proxy: SandboxProxy; listening: Promise<AsyncDisposable> }>();

  async function closeProxy(sandboxId: SandboxId): Promise<void> {
    const listener = await proxies.get(sandboxId)?.listening.catch(() => undefined);
    proxies.delete(sandboxId);
    await listener?.[Symbol.asyncDispose]();
  }

  function openSocket(sandboxId: SandboxId, policy: EgressPolicy) {
    const proxy = createProxy(sandboxId, policy);
    return { proxy, listening: listenInFolder(proxy, parent, sandboxId, maxConnections) };
  }

  return {
    counters,
    takeTraffic: traffic.take,
    takeHosts: traffic.takeHosts,
    async open(sandboxId, { egress }) {
      // A sandbox that was paused has its proxy already, with the policy that it had.
      proxies.get(sandboxId)?.proxy.change(egress, { closeConnections: false });
      const opening = proxies.get(sandboxId) ?? openSocket(sandboxId, egress);
      proxies.set(sandboxId, opening);
      try {
        await opening.listening;
      } catch (error) {
        proxies.delete(sandboxId);
        throw error;
      }
    },
    async change(sandboxId, { egress }, options) {
      proxies.get(sandboxId)?.proxy.change(egress, options);
    },
    async close(sandboxId) {
      await closeProxy(sandboxId);
      rmSync(join(parent, sandboxId), { recursive: true, force: true });
    },
    // Keeps the folders, because sandboxes outlive the server and look there for the next server's socket.
    async [Symbol.asyncDispose]() {
      await Promise.all([...proxies.keys()].map(closeProxy));
    },
  };
}
