import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { EgressPolicy, SandboxId, Template } from "@berth/contract";
import { createProxyFactory, type ProxyFactoryOptions, type EgressCounters } from "./proxy/proxy-factory.ts";
import { listenInFolder } from "./socket-listener.ts";

// The way out of sandboxes. Each has a Unix socket of its own, `{dataDir}/egress/{sandboxId}/proxy.sock`, whose folder the
// driver shows inside, read-only, at /run/berth-egress. Who is asking is known by the socket: there is nothing to forge.
// `open` comes before the driver's create or resume, and again for every live sandbox after a restart of the server;
// programs inside find the new socket under the old name. Every method may be repeated.
export interface Egress extends AsyncDisposable {
  open(sandboxId: SandboxId, template: Pick<Template, "egress">): Promise<void>;
  // Cuts what is under way and removes the socket.
  close(sandboxId: SandboxId): Promise<void>;
  readonly counters: Readonly<EgressCounters>;
}

export interface EgressOptions extends ProxyFactoryOptions {
  dataDir: string;
}

export function createLocalEgress(options: EgressOptions): Egress {
  const parent = join(options.dataDir, "egress");
  const { maxConnections = 256 } = options;
  const counters: EgressCounters = { allowed: 0, refused: 0 };
  const createProxy = createProxyFactory(options, counters);
  const proxies = new Map<SandboxId, Promise<AsyncDisposable>>();

  async function shut(sandboxId: SandboxId): Promise<void> {
    const proxy = await proxies.get(sandboxId)?.catch(() => undefined);
    proxies.delete(sandboxId);
    await proxy?.[Symbol.asyncDispose]();
  }

  function openSocket(sandboxId: SandboxId, policy: EgressPolicy): Promise<AsyncDisposable> {
    const { proxy, flood } = createProxy(sandboxId, policy);
    return listenInFolder(proxy, parent, sandboxId, { flood, maxConnections });
  }

  return {
    counters,
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
    async close(sandboxId) {
      await shut(sandboxId);
      await rm(join(parent, sandboxId), { recursive: true, force: true });
    },
    // The folders stay: sandboxes outlive the server and look there for the next one's socket.
    async [Symbol.asyncDispose]() {
      await Promise.all([...proxies.keys()].map(shut));
    },
  };
}
