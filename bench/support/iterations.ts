import { setTimeout as sleep } from "node:timers/promises";
import type { Caller } from "./caller.ts";

// The time to interactive of ComputeSDK's benchmark: from the create to the output of `node -v`. Each iteration destroys its sandbox
// afterwards, which is not measured but adds to the load.
export type Mode = "sequential" | "staggered" | "burst";
export type Iteration = () => Promise<number>;

export const COMMAND = "node -v";
const STAGGER_MS = 200;

export function titleOf(mode: Mode, perRound: number): string {
  const when = { sequential: "one after the other", staggered: `one every ${STAGGER_MS} ms`, burst: `${perRound} at once` };
  return `Create to the output of \`${COMMAND}\`, ${when[mode]}`;
}

export async function runIterations(mode: Mode, count: number, iteration: Iteration): Promise<number[]> {
  if (mode === "sequential") {
    const values: number[] = [];
    for (let i = 0; i < count; i++) values.push(await iteration());
    return values;
  }
  const delayMs = mode === "burst" ? 0 : STAGGER_MS;
  return Promise.all(Array.from({ length: count }, (_, i) => (delayMs === 0 ? iteration() : sleep(i * delayMs).then(iteration))));
}

// Through Berth's own API.
export async function iterate(caller: Caller): Promise<number> {
  const startedMs = performance.now();
  const session = await caller.create();
  expectVersion(await caller.exec(session.sandboxId, COMMAND));
  const tookMs = performance.now() - startedMs;
  await caller.destroy(session);
  return tookMs;
}

export function expectVersion(output: string): void {
  if (!/^v\d+\./.test(output)) throw new Error(`\`${COMMAND}\` printed ${JSON.stringify(output.slice(0, 200))}`);
}
