import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { Driver } from "../drivers/driver.ts";
import type { Log } from "../log.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { Templates } from "../templates.ts";
import type { Egress } from "./egress.ts";
import { createLocalEgress } from "./local-egress.ts";
import type { ProxyFactoryOptions } from "./proxy/proxy-factory.ts";
import { createNetworkEgress, type NetworkEgress, type NetworkEgressOptions } from "./network-egress.ts";
import { createEgressTokens } from "./egress-tokens.ts";

export interface OpenEgressOptions {
  config: Pick<Config, "dataDir" | "egressAllow" | "egressListen" | "egressMasqueraded">;
  driver: Pick<Driver, "traits" | "addressOwner">;
  // The ports on which this server listens.
  ownPorts: readonly number[];
  running: NetworkEgressOptions["running"];
  currentEgress: NetworkEgressOptions["currentEgress"];
  clock: Clock;
  secrets: Secrets;
  templates: Templates;
  log: Log;
  onRelay?: ProxyFactoryOptions["onRelay"];
}

// Opens the kind of egress that the driver needs.
export async function openEgress({
  config,
  driver,
  ownPorts,
  running,
  currentEgress,
  clock,
  secrets,
  templates,
  log,
  onRelay,
}: OpenEgressOptions): Promise<Egress & Partial<Pick<NetworkEgress, "issueToken">>> {
  const common = { log, clock, allow: config.egressAllow, ownPorts, ...(onRelay ? { onRelay } : {}) };
  // Sandboxes on this machine reach a Unix socket.
  if (driver.traits.hostBound) return createLocalEgress({ ...common, dataDir: config.dataDir });
  if (config.egressListen !== null)
    return await createNetworkEgress({
      ...common,
      listen: config.egressListen,
      tokens: createEgressTokens(secrets),
      templates,
      running,
      currentEgress,
      sharedAddresses: config.egressMasqueraded,
      async isAddressOf(sandboxId, address, signal) {
        const owner = await driver.addressOwner?.(sandboxId, address, signal);
        return owner === "sandbox" || (owner === "node" && config.egressMasqueraded);
      },
    });
  log.warn("egress.closed", { reason: "BERTH_EGRESS_LISTEN is not set, so sandboxes have no network access" });
  return {
    counters: { allowed: 0, refused: 0 },
    takeTraffic: () => new Map(),
    takeHosts: () => new Map(),
    async open() {},
    async change() {},
    async close() {},
    async [Symbol.asyncDispose]() {},
  };
}
