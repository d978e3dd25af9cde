import { lookup } from "node:dns/promises";
import type { Clock } from "../../../clock.ts";
import type { Log } from "../../../log.ts";

// A pod resolves no names, so it is given the address behind the server's name. That of a Service stays as long as the
// Service does; one that was made anew is noticed within half a minute, for pods that start from then on.
export interface EgressAddress {
  // `address:port`; null for no way out. Falls back on the last known one while names cannot be resolved.
  current(): Promise<string | null>;
}

const TTL_MS = 30_000;

// Rejects when the name cannot be resolved at all: a server without it would start sandboxes that reach nothing.
export async function openEgressAddress(
  egress: string | null,
  { clock, log, resolve = lookup }: { clock: Clock; log: Log; resolve?: typeof lookup },
): Promise<EgressAddress> {
  if (egress === null) return { current: async () => null };
  const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(egress) ?? [];
  if (host === undefined || port === undefined) throw new Error(`the egress address "${egress}" is not host:port`);
  let known = await ask().catch((cause: Error) => {
    throw new Error(`the way out of sandboxes, ${host}, has no address: ${cause.message}`, { cause });
  });
  let askedMs = clock.now();

  async function ask(): Promise<string> {
    const { address, family } = await resolve(host!);
    return family === 6 ? `[${address}]:${port}` : `${address}:${port}`;
  }

  return {
    async current() {
      if (clock.now() - askedMs < TTL_MS) return known;
      askedMs = clock.now();
      try {
        const fresh = await ask();
        if (fresh !== known) log.info("kubernetes.egress_moved", { from: known, to: fresh });
        known = fresh;
      } catch (error) {
        log.warn("kubernetes.egress_unresolved", { host, error: String(error), stays: known });
      }
      return known;
    },
  };
}
