import { createFloodLimit, type FloodLimit } from "./flood-limit.ts";

// What one address may ask of the proxy before it has shown a pass: without this, any pod that reaches the port could take
// all of the server's open files.
export interface SourceLimit {
  // A place for a connection from this address, until it is disposed; null when it has too many, or floods.
  take(address: string): Disposable | null;
}

export interface SourceLimitOptions {
  maxOpen: number;
  maxPerSecond: number;
  restMs: number;
}

const REMEMBERED = 4_096;

export function createSourceLimit({ maxOpen, maxPerSecond, restMs }: SourceLimitOptions): SourceLimit {
  const sources = new Map<string, { open: number; flood: FloodLimit }>();

  function sourceOf(address: string) {
    const known = sources.get(address);
    if (known) return known;
    // An address that has gone is kept until many have, so that hanging up is no way around the flood limit.
    if (sources.size >= REMEMBERED) for (const [other, { open }] of sources) if (open === 0) sources.delete(other);
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
