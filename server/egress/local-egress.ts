import { rmSync } from "node:fs";
import { join } from "node:path";
import type { EgressPolicy, SandboxId } from "@berth/contract";
import type { Egress } from "./egress.ts";
import { createProxyFactory, type EgressCounters, type ProxyFactoryOptions } from "./proxy/proxy-factory.ts";
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
  const proxies = new Map<SandboxId, Promise<AsyncDisposable>>();

  async function closeProxy(sandboxId: SandboxId): Promise<void> {
    const proxy = await proxies.get(sandboxId)?.catch(() => undefined);
    proxies.delete(sandboxId);
    await proxy?.[Symbol.asyncDispose]();
  }

  function openSocket(sandboxId: SandboxId, policy: EgressPolicy): Promise<AsyncDisposable> {
    return listenInFolder(createProxy(sandboxId, policy), parent, sandboxId, maxConnections);
  }

  return {
    counters,
    takeTraffic: traffic.take,
    takeHosts: traffic.takeHosts,
    async open(sandboxId, { egress }) {
      const opening = proxies.get(sandboxId) ?? openSocket(sandboxId, egress);
      proxies.set(sandboxId, opening);
      try {
        await opening;
      } catch (error) {
        proxies.delete(sandboxId);
        throw error;
      }
    },
    async change(sandboxId, { egress }) {
      const before = proxies.get(sandboxId);
      if (!before) return;
      // An `open` or `close` that comes now waits for it.
      const opening = before
        .then((proxy) => proxy[Symbol.asyncDispose]())
        .catch(() => {})
        .then(() => openSocket(sandboxId, egress));
      proxies.set(sandboxId, opening);
      await opening;
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
