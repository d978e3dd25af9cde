import { expect, test } from "vitest";
import { createPace } from "./pace.ts";

function createBench() {
  let timeMs = 10_000;
  const timers: { work: () => void; atMs: number }[] = [];
  const started: [number, string][] = [];
  const later = (work: () => void, ms: number) => void timers.push({ work, atMs: timeMs + ms });
  const pace = createPace({ perSecond: 100, burst: 3, nowMs: () => timeMs, later });
  return {
    started,
    start: (name: string) => pace.start(() => void started.push([timeMs - 10_000, name])),
    run(durationMs: number) {
      for (const endMs = timeMs + durationMs; timeMs < endMs;) {
        timeMs += 1;
        for (const timer of timers.splice(0))
          if (timer.atMs <= timeMs) timer.work();
          else timers.push(timer);
      }
    },
  };
}

test("a few start at once, and the rest in order at the rate", () => {
  const bench = createBench();
  for (const name of "abcde") bench.start(name);
  bench.run(100);
  expect(bench.started).toEqual([
    [0, "a"],
    [0, "b"],
    [0, "c"],
    [10, "d"],
    [20, "e"],
  ]);
});

test("a new one does not overtake those that wait", () => {
  const bench = createBench();
  for (const name of "abcd") bench.start(name);
  bench.run(5);
  bench.start("e");
  bench.run(50);
  expect(bench.started.map(([, name]) => name).join("")).toBe("abcde");
});

test("a pause allows the next burst, however long it was", () => {
  const bench = createBench();
  for (const name of "abc") bench.start(name);
  bench.run(1_000);
  for (const name of "defg") bench.start(name);
  bench.run(100);
  expect(bench.started.slice(3)).toEqual([
    [1_000, "d"],
    [1_000, "e"],
    [1_000, "f"],
    [1_010, "g"],
  ]);
});
