import type { Blank } from "../../store/sessions/session.ts";
import { PERIOD_MS } from "./demand.ts";
import type { Kind } from "../sandbox-spec.ts";

// The work of one run of the pool, decided from the blanks that exist.
export interface FillPlan {
  // Blanks of an outdated template, and those that exceed the limit.
  evictNow: Blank[];
  // Unused for a while, and more than the demand needs. The longest unused come first.
  shrink: Blank[];
  targets: KindTarget[];
}

export interface KindTarget {
  kind: Kind;
  have: number;
  target: number;
}

export interface FillFacts {
  blanks: readonly Blank[];
  kinds: readonly Kind[];
  nowMs: number;
  // How many blanks of each kind there are, whatever the demand and the memory.
  size: number;
  // How many blanks of each kind there may be.
  max: number;
  demandFor(template: string): number;
  // Blanks of all kinds that the free memory allows, those that exist included.
  room: number;
  // Sandboxes beyond the limit of the server.
  excess: number;
}

// Longer than a target lasts without demand, so that a server does not evict blanks that another server's target needs.
const UNUSED_MS = 2 * PERIOD_MS;

export function planFill(facts: FillFacts): FillPlan {
  const { blanks, kinds, nowMs, size, demandFor, excess } = facts;
  const newestFirst = blanks.toSorted((a, b) => b.createdAtMs - a.createdAtMs);
  const plan: FillPlan = { evictNow: newestFirst.filter((blank) => !kinds.some((kind) => isOfKind(blank, kind))), shrink: [], targets: [] };
  let roomToGrow = facts.room - size * kinds.length;
  for (const kind of kinds) {
    const own = newestFirst.filter((blank) => isOfKind(blank, kind));
    const limit = Math.max(size, Math.min(facts.max, size + roomToGrow));
    const target = Math.min(demandFor(kind.template.name), limit);
    const unneeded = own.slice(target).filter((blank) => blank.createdAtMs <= nowMs - UNUSED_MS);
    plan.evictNow.push(...own.slice(limit));
    plan.shrink.push(...unneeded.filter((blank) => !plan.evictNow.includes(blank)).toReversed());
    plan.targets.push({ kind, have: own.length, target });
    roomToGrow -= Math.max(0, Math.min(Math.max(own.length, target), limit) - size);
  }
  const others = newestFirst.filter((blank) => !plan.evictNow.includes(blank) && blank.state === "warm");
  plan.evictNow.push(...others.slice(0, Math.max(0, excess - plan.evictNow.length)));
  // Another server may be about to finish a blank in the state `warming`.
  return { ...plan, evictNow: plan.evictNow.filter(isWarm), shrink: plan.shrink.filter(isWarm) };
}

export const isOfKind = (blank: Blank, { template, templateHash }: Kind) =>
  blank.template === template.name && blank.templateHash === templateHash;

const isWarm = ({ state }: Blank) => state === "warm";
