import type { Clock } from "../../clock.ts";
import { PERIOD_MS } from "./demand.ts";

// Shares the warm sandboxes of a template between the partners that create sessions. A partner that holds its share leaves as many
// as the others need for theirs, and creates a new sandbox instead. A partner that is alone may take all. Each server knows the
// partners that it serves.
export interface WarmShares {
  // A create looks for a warm sandbox. It holds one from now on, unless `release` is called.
  take(template: string, partnerId: string): void;
  // The create found none.
  release(template: string, partnerId: string): void;
  // How many warm sandboxes are kept for other partners. This partner may take one only if there are more.
  keptFrom(template: string, partnerId: string, target: number): number;
  // The pool has replaced one that was taken.
  replaced(template: string): void;
  // The pool has replaced all.
  full(template: string): void;
  // The partners that created sessions of late.
  partners(template: string): number;
}

interface Holder {
  // Warm sandboxes that it took, and that the pool has not replaced yet.
  held: number;
  seenAtMs: number;
}

const RECENT_MS = 2 * PERIOD_MS;

export function createWarmShares({ clock }: { clock: Pick<Clock, "now"> }): WarmShares {
  const templates = new Map<string, Map<string, Holder>>();

  function holdersOf(template: string): Map<string, Holder> {
    const holders = templates.get(template) ?? new Map<string, Holder>();
    templates.set(template, holders);
    for (const [partnerId, { seenAtMs }] of holders) if (seenAtMs <= clock.now() - RECENT_MS) holders.delete(partnerId);
    return holders;
  }

  return {
    take(template, partnerId) {
      const holders = holdersOf(template);
      holders.set(partnerId, { held: (holders.get(partnerId)?.held ?? 0) + 1, seenAtMs: clock.now() });
    },
    release(template, partnerId) {
      const holder = holdersOf(template).get(partnerId);
      if (holder && holder.held > 0) holder.held--;
    },
    keptFrom(template, partnerId, target) {
      const holders = holdersOf(template);
      const share = Math.max(1, Math.floor(target / holders.size));
      // The partner already counts as the holder of the sandbox that it looks for.
      if ((holders.get(partnerId)?.held ?? 0) <= share) return 0;
      return [...holders].reduce((sum, [other, { held }]) => sum + (other === partnerId ? 0 : Math.max(0, share - held)), 0);
    },
    // Serves the partner that holds the fewest, so that many sandboxes for one partner do not delay those for another.
    replaced(template) {
      const holding = [...holdersOf(template).values()].filter(({ held }) => held > 0);
      const least = holding.toSorted((a, b) => a.held - b.held)[0];
      if (least) least.held--;
    },
    full(template) {
      for (const holder of holdersOf(template).values()) holder.held = 0;
    },
    partners: (template) => Math.max(1, holdersOf(template).size),
  };
}
