import { createFloodLimit, type FloodLimit } from "./flood-limit.ts";

// Limits the connections from one address before they are identified by a token. Without it, any pod that reaches the port
// could exhaust the server's file descriptors.
export interface SourceLimit {
  // Returns a slot for a connection, to be disposed of when it closes, or null if the address has too many or floods.
  take(address: string): Disposable | null;
}

export interface SourceLimitOptions {
  maxOpen: number;
  maxPerSecond: number;
  restMs: number;
}

const MAX_SOURCES = 4_096;

export function createSourceLimit({ maxOpen, maxPerSecond, restMs }: SourceLimitOptions): SourceLimit {
  const sources = new Map<string, { open: number; flood: FloodLimit }>();

  function sourceOf(address: string) {
    const known = sources.get(address);
    if (known) return known;
    // An address without connections is kept for now, so that disconnecting does not reset its flood limit.
    if (sources.size >= MAX_SOURCES) for (const [other, { open }] of sources) if (open === 0) sources.delete(other);
    const source = { open: 0, flood: createFloodLimit({ maxPerSecond, restMs }) };
    sources.set(address, source);
    return source;
  }

  return {
    take(address) {
      const source = sourceOf(address);
      if (!source.flood.take() || source.open >= maxOpen) return null;
      source.open++;
      return { [Symbol.dispose]: () => void source.open-- };
    },
  };
}
