import { lookup } from "node:dns/promises";
import type { Clock } from "../../../clock.ts";
import type { Log } from "../../../log.ts";

// Resolves the name of the egress proxy, because pods have no resolver. The address of a Service is stable. If the Service is
// recreated, pods that start more than half a minute later get the new address.
export interface EgressAddress {
  // `address:port`, or null for no egress. Falls back to the last known address if the name cannot be resolved.
  current(): Promise<string | null>;
}

const TTL_MS = 30_000;

// Rejects if the name cannot be resolved at the start, because sandboxes would have no egress.
export async function openEgressAddress(
  egress: string | null,
  { clock, log, resolve = lookup }: { clock: Clock; log: Log; resolve?: typeof lookup },
): Promise<EgressAddress> {
  if (egress === null) return { current: async () => null };
  const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(egress) ?? [];
  if (host === undefined || port === undefined) throw new Error(`the egress address "${egress}" is not host:port`);
  let known = await resolveAddress().catch((cause: Error) => {
    throw new Error(`the egress proxy ${host} of sandboxes has no address: ${cause.message}`, { cause });
  });
  let resolvedMs = clock.now();

  async function resolveAddress(): Promise<string> {
    const { address, family } = await resolve(host!);
    return family === 6 ? `[${address}]:${port}` : `${address}:${port}`;
  }

  return {
    async current() {
      if (clock.now() - resolvedMs < TTL_MS) return known;
      resolvedMs = clock.now();
      try {
        const fresh = await resolveAddress();
        if (fresh !== known) log.info("kubernetes.egress_moved", { from: known, to: fresh });
        known = fresh;
      } catch (error) {
        log.warn("kubernetes.egress_unresolved", { host, error: String(error), keeps: known });
      }
      return known;
    },
  };
}
