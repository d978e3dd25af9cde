import { MINUTE, type Clock } from "../../clock.ts";

// How many warm sandboxes of a template the creates of the last minutes would have needed. Every create that finds none raises the
// target by one. When a period ends in which few were taken, the target falls. Each server counts the creates that it serves.
export interface Demand {
  // A create got a warm sandbox of this template, or would have taken one.
  taken(template: string): void;
  // A create found no warm sandbox of this template.
  missed(template: string): void;
  // All warm sandboxes of the target were there.
  full(template: string): void;
  // Between `size` and `max`.
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
  // Taken since the pool was last full.
  taken: number;
  // The most of these in this period.
  mostTaken: number;
  periodEndMs: number;
}

export function createDemand({ clock, size, max }: DemandOptions): Demand {
  const levels = new Map<string, Level>();

  function levelOf(template: string): Level {
    const level = levels.get(template) ?? { target: size, taken: 0, mostTaken: 0, periodEndMs: clock.now() + PERIOD_MS };
    levels.set(template, level);
    if (clock.now() >= level.periodEndMs) endPeriod(level);
    return level;
  }

  function endPeriod(level: Level): void {
    const isOver = level.mostTaken <= size || clock.now() >= level.periodEndMs + PERIOD_MS;
    // Several servers share the pool, so a server that takes half of it may need all of it.
    if (isOver) level.target = size;
    else if (level.mostTaken < level.target / 2) level.target = Math.max(size, Math.ceil(level.target / 2));
    Object.assign(level, { taken: 0, mostTaken: 0, periodEndMs: clock.now() + PERIOD_MS });
  }

  return {
    taken(template) {
      const level = levelOf(template);
      level.mostTaken = Math.max(level.mostTaken, ++level.taken);
    },
    missed(template) {
      const level = levelOf(template);
      if (size > 0 && level.target < max) level.target++;
    },
    full(template) {
      levelOf(template).taken = 0;
    },
    targetOf: (template) => levelOf(template).target,
  };
}
