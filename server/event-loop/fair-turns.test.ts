import { describe, expect, test } from "vitest";
import { createFairTurns, type FairTurns } from "./fair-turns.ts";

const COST_MS = 5;

// An event loop whose iterations the test runs, with work that takes COST_MS each.
function createBench(maxWaitingPerHolder = 100) {
  const planned: (() => void)[] = [];
  const started: string[] = [];
  const timers: { atMs: number; work: () => void }[] = [];
  let clockMs = 60_000;
  const turns: FairTurns = createFairTurns({
    maxWaitingPerHolder,
    nextRound: (work) => void planned.push(work),
    later: (work, ms) => void timers.push({ atMs: clockMs + ms, work }),
    nowMs: () => clockMs,
    cpuMs: () => clockMs,
  });
  return {
    started,
    enter: (holder: string, name = holder, costMs = COST_MS) =>
      turns.enter(holder, () => {
        started.push(name);
        clockMs += costMs;
      }),
    turnRound() {
      started.length = 0;
      for (const work of planned.splice(0)) work();
      return [...started];
    },
    isIdle: () => planned.length === 0,
    // Runs iterations of the event loop, of a millisecond at least, and returns the work that they started.
    turnFor(durationMs: number) {
      const all: string[] = [];
      for (const endMs = clockMs + durationMs; clockMs < endMs; clockMs++) {
        for (const { work } of timers.splice(0).filter((timer) => timer.atMs <= clockMs || !timers.push(timer))) work();
        started.length = 0;
        for (const work of planned.splice(0)) work();
        all.push(...started);
      }
      return all;
    },
  };
}

describe("fair turns", () => {
  test("a single call starts at once", () => {
    const bench = createBench();
    bench.enter("a");
    expect(bench.started).toEqual(["a"]);
  });

  test("of many calls, one starts in each iteration of the event loop", () => {
    const bench = createBench();
    for (let i = 0; i < 4; i++) bench.enter("greedy");
    expect(bench.started).toHaveLength(1);
    bench.turnRound();
    expect([bench.turnRound(), bench.turnRound(), bench.turnRound()]).toEqual([["greedy"], ["greedy"], ["greedy"]]);
  });

  test("a new holder waits for one call of a greedy holder, however many wait", () => {
    const bench = createBench();
    for (let i = 0; i < 50; i++) bench.enter("greedy");
    bench.enter("victim");
    bench.turnRound();
    expect([bench.turnRound(), bench.turnRound(), bench.turnRound()]).toEqual([["greedy"], ["victim"], ["greedy"]]);
  });

  test("holders take turns, and the calls of one holder stay in order", () => {
    const bench = createBench();
    bench.enter("a", "a0");
    for (const name of ["a1", "a2", "b1", "b2", "c1"]) bench.enter(name[0]!, name);
    const order: string[] = [];
    while (!bench.isIdle()) order.push(...bench.turnRound());
    expect(order).toEqual(["a1", "b1", "c1", "a2", "b2"]);
  });

  test("several cheap calls share an iteration", () => {
    const bench = createBench();
    bench.enter("a", "first");
    for (let i = 0; i < 20; i++) bench.enter("a", `${i}`, 0.01);
    bench.turnRound();
    expect(bench.turnRound()).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
  });

  test("a holder with too many waiting calls is refused, but others are not", () => {
    const bench = createBench(2);
    expect(["a", "a", "a", "a", "b"].map((holder) => bench.enter(holder))).toEqual([true, true, true, false, true]);
    while (!bench.isIdle()) bench.turnRound();
    expect(bench.enter("a")).toBe(true);
  });

  test("a holder that uses the event loop for long gets half of it while another one uses it too", () => {
    const bench = createBench(10_000);
    bench.enter("other", "other", 0);
    for (let i = 0; i < 4_000; i++) bench.enter("greedy");
    bench.turnFor(3_000);
    bench.enter("other", "other", 0);
    const startedMs = bench.turnFor(4_000).filter((name) => name === "greedy").length * COST_MS;
    expect(startedMs).toBeGreaterThan(1_700);
    expect(startedMs).toBeLessThan(2_200);
  });

  test("while that holder rests, a call of another one starts at once", () => {
    const bench = createBench(10_000);
    bench.enter("other");
    for (let i = 0; i < 4_000; i++) bench.enter("greedy");
    let waited = 0;
    for (let i = 0; i < 500; i++) {
      bench.turnFor(7);
      bench.started.length = 0;
      bench.enter("other", "other", 0);
      if (bench.started.length === 0) waited++;
    }
    expect(waited).toBeLessThan(300);
  });

  test("a holder that is alone is not limited", () => {
    const bench = createBench(10_000);
    for (let i = 0; i < 4_000; i++) bench.enter("greedy");
    expect(bench.turnFor(6_000).length * COST_MS).toBeGreaterThan(4_500);
  });

  test("no work is scheduled when nothing waits", () => {
    const bench = createBench();
    for (let i = 0; i < 3; i++) bench.enter("a");
    for (let round = 0; round < 5; round++) bench.turnRound();
    expect(bench.isIdle()).toBe(true);
    bench.enter("b");
    expect(bench.started).toEqual(["b"]);
  });
});

test("on the real event loop, timers and sockets run between two calls", async () => {
  const turns = createFairTurns({ maxWaitingPerHolder: 100 });
  const order: string[] = [];
  const hold = (name: string) => {
    order.push(name);
    for (const endMs = performance.now() + 3; performance.now() < endMs;);
  };
  const last = Promise.withResolvers<void>();
  setTimeout(() => order.push("timer"), 1);
  for (let i = 0; i < 5; i++) turns.enter("greedy", () => hold(`start ${i}`));
  turns.enter("greedy", () => last.resolve());
  await last.promise;
  expect(order.indexOf("timer")).toBeLessThan(order.indexOf("start 2"));
});
