import { MINUTE, type Clock } from "../../clock.ts";

// How many warm sandboxes of a template the creates of the last minutes would have needed: as many as there were when the pool was
// last full, and one for each create that waits because it found none. The target therefore does not grow beyond what the pool can
// fill, however long more sessions are created than sandboxes can be started. When a period ends in which few were taken, or in which
// growth did not help, the target falls. Each server counts the creates that it serves.
export interface Demand {
  // A create got a warm sandbox of this template, or would have taken one.
  taken(template: string): void;
  // A create found no warm sandbox of this template. Dispose of the result when it no longer waits. One partner's creates use
  // at most one of `partners` equal parts of the growth.
  missed(template: string, creator: { partnerId: string; partners: number }): Disposable;
  // All warm sandboxes of the target were there.
  full(template: string): void;
  // The target is between `size` and `max`.
  targetOf(template: string): number;
}

export const PERIOD_MS = 5 * MINUTE;

export interface DemandOptions {
  clock: Clock;
  // The target without demand. With 0 there is no pool.
  size: number;
  max: number;
}

interface Level {
  target: number;
  // The target when the pool was last full.
  reached: number;
  // Creates that wait because they found none, by partner.
  waiting: Map<string, number>;
  // How many were taken since the pool was last full.
  taken: number;
  // The values of this period. `firstTarget` is the target at its start.
  mostTaken: number;
  creates: number;
  missed: number;
  firstTarget: number;
  periodEndMs: number;
}

export function createDemand({ clock, size, max }: DemandOptions): Demand {
  const levels = new Map<string, Level>();

  const newPeriod = (target: number) => ({
    taken: 0,
    mostTaken: 0,
    creates: 0,
    missed: 0,
    firstTarget: target,
    periodEndMs: clock.now() + PERIOD_MS,
  });

  function levelOf(template: string): Level {
    const level = levels.get(template) ?? { target: size, reached: size, waiting: new Map<string, number>(), ...newPeriod(size) };
    levels.set(template, level);
    if (clock.now() >= level.periodEndMs) endPeriod(level);
    return level;
  }

  function endPeriod(level: Level): void {
    const isOver = level.mostTaken <= size || clock.now() >= level.periodEndMs + PERIOD_MS;
    const isNoHelp = level.firstTarget > size && level.missed > level.creates / 2;
    // Several servers share the pool, so a server that takes half of it may need all of it.
    if (isOver || isNoHelp) level.target = size;
    else if (level.mostTaken < level.target / 2) level.target = Math.max(size, Math.ceil(level.target / 2));
    level.reached = Math.min(level.reached, level.target);
    Object.assign(level, newPeriod(level.target));
  }

  function grow(level: Level, partners: number): void {
    const share = Math.max(1, Math.floor((max - size) / partners));
    const needed = [...level.waiting.values()].reduce((sum, count) => sum + Math.min(count, share), level.reached);
    if (size > 0) level.target = Math.min(max, Math.max(level.target, needed));
  }

  return {
    taken(template) {
      const level = levelOf(template);
      level.creates++;
      level.mostTaken = Math.max(level.mostTaken, ++level.taken);
    },
    missed(template, { partnerId, partners }) {
      const level = levelOf(template);
      level.missed++;
      add(level.waiting, partnerId, 1);
      grow(level, partners);
      return { [Symbol.dispose]: () => add(level.waiting, partnerId, -1) };
    },
    full(template) {
      const level = levelOf(template);
      level.taken = 0;
      level.reached = level.target;
    },
    targetOf: (template) => levelOf(template).target,
  };
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
