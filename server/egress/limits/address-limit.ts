import { createFloodLimit, type FloodLimit } from "./flood-limit.ts";

// Limits the connections from one address before they are identified by a token. Without it, any pod that reaches the port
// could exhaust the server's file descriptors.
export interface AddressLimit {
  // Returns a slot for a connection, to be disposed of when it closes, or null if the address has too many or floods.
  take(address: string): Disposable | null;
}

export interface AddressLimitOptions {
  maxOpen: number;
  maxPerSecond: number;
  restMs: number;
}

const MAX_HOLDERS = 4_096;

export function createAddressLimit({ maxOpen, maxPerSecond, restMs }: AddressLimitOptions): AddressLimit {
  const holders = new Map<string, { open: number; flood: FloodLimit }>();

  function holderOf(address: string) {
    const known = holders.get(address);
    if (known) return known;
    // An address without connections is kept for now, so that disconnecting does not reset its flood limit.
    if (holders.size >= MAX_HOLDERS) for (const [other, { open }] of holders) if (open === 0) holders.delete(other);
    const holder = { open: 0, flood: createFloodLimit({ maxPerSecond, restMs }) };
    holders.set(address, holder);
    return holder;
  }

  return {
    take(address) {
      const holder = holderOf(address);
      if (!holder.flood.take() || holder.open >= maxOpen) return null;
      holder.open++;
      return { [Symbol.dispose]: () => void holder.open-- };
    },
  };
}
