import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import type { Failure } from "./failures.ts";
import { runCase } from "./run.ts";
import { caseSeed } from "./seed.ts";
import type { AnyTarget, World } from "./target.ts";

const LIMIT_MS = 60_000;
const AFTERMATH_MS = 100;

// The smallest plan that fast-check finds for a failure, on separate servers; undefined if the case does not fail alone.
export async function shrink<W extends World>(
  failure: Failure,
  seed: number,
  { open, targets }: { open: () => Promise<W>; targets: (world: W) => AnyTarget[] },
): Promise<unknown> {
  let world = await open();
  try {
    const named = () => targets(world).find(({ name }) => name === failure.target);
    const target = named();
    if (!target) return undefined;
    let count = 0;
    const isFine = async (plan: never): Promise<boolean> => {
      if (world.isDown) {
        await world[Symbol.asyncDispose]();
        world = await open();
      }
      const finding = await runCase(named() ?? target, plan, 0, `shrink-${count++}`);
      if (failure.finding.kind === "crash") await sleep(AFTERMATH_MS);
      return failure.finding.kind === "crash" ? !world.isDown : finding?.kind !== failure.finding.kind;
    };
    const details = await fc.check(fc.asyncProperty(target.plan, isFine), {
      seed: caseSeed(seed, failure.target, failure.number),
      numRuns: 1,
      interruptAfterTimeLimit: LIMIT_MS,
    });
    return details.counterexample?.[0];
  } finally {
    await world[Symbol.asyncDispose]();
  }
}
