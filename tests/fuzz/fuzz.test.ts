import { afterAll, beforeAll, expect, it } from "vitest";
import { openBerthWorld, type BerthWorld } from "./berth-world.ts";
import { showResult } from "./report.ts";
import { runFuzz } from "./run.ts";
import { createTargets } from "./targets/index.ts";

let world: BerthWorld;
beforeAll(async () => {
  world = await openBerthWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

// Both runs share a server, unless it ends.
async function borrow(): Promise<BerthWorld> {
  if (world.isDown) {
    await world[Symbol.asyncDispose]();
    world = await openBerthWorld();
  }
  return Object.create(world, { [Symbol.asyncDispose]: { value: async () => {} } }) as BerthWorld;
}

// The short form of `npm run fuzz`: a fixed seed, so that what was found once stays fixed, and one that is new every time.
it.each([
  { name: "a fixed seed", seed: 1 },
  { name: "a new seed", seed: Math.floor(Math.random() * 2 ** 31) },
])("$name ($seed) finds no crash, no 5xx of ours, no hang and no leak", async ({ seed }) => {
  const result = await runFuzz({ open: borrow, targets: createTargets, seed, maxCases: 1_500, settleMs: 500 });
  if (result.failures.length + result.leaks.length > 0) expect.fail(showResult(result));
});
