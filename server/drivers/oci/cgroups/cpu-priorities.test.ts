import { expect, test } from "vitest";
import { backgroundLimit, createCpuPriorities } from "./cpu-priorities.ts";

const SECOND = 1_000;
const HOST = "host";

// Sandboxes with the given loads, in cores, on a machine with two. The host's programs are a load too.
function createBench({ inBackground = [] as string[] } = {}) {
  const cores = 2;
  const usedMs = new Map<string, number>();
  const background = new Map<string, string>(inBackground.map((id) => [id, "moved by another server"]));
  const restored: [string, string | undefined][] = [];
  let loads: Record<string, number> = {};
  let timeMs = SECOND;
  let idleMs = 0;
  let idleReads = 0;
  const open = new Set<string>();
  const priorities = createCpuPriorities({
    cores,
    nowMs: () => timeMs,
    readIdleMs: () => (idleReads++, idleMs),
    list: () => Object.keys(loads).filter((id) => id !== HOST),
    cgroups: {
      cpuMs: (id) => (open.add(id), usedMs.get(id) ?? 0),
      closeCpu: (id) => void open.delete(id),
      isBackground: (id) => background.has(id),
      enterBackground: (id) => (background.set(id, "entered"), `weight of ${id}`),
      leaveBackground: (id, weight) => void (background.delete(id), restored.push([id, weight])),
    },
  });
  return {
    restored,
    usedMs,
    background,
    open,
    idleReads: () => idleReads,
    async run(nextLoads: Record<string, number>, durationMs: number): Promise<string[]> {
      loads = nextLoads;
      for (const endMs = timeMs + durationMs; timeMs < endMs;) {
        await priorities.update();
        timeMs += SECOND / 2;
        const load = Object.values(loads).reduce((sum, one) => sum + one, 0);
        idleMs += (Math.max(0, cores - load) * SECOND) / 2;
        for (const [id, load] of Object.entries(loads)) usedMs.set(id, (usedMs.get(id) ?? 0) + (load * SECOND) / 2);
      }
      await priorities.update();
      return [...background.keys()].toSorted();
    },
  };
}

test("a sandbox that keeps a core busy goes to the background within a second, and one that is used by a person does not", async () => {
  const bench = createBench();
  expect(await bench.run({ busy: 1.7, person: 0.2 }, SECOND)).toEqual(["busy"]);
});

test("it comes back, with its weight, when it has been calm for ten seconds", async () => {
  const bench = createBench();
  await bench.run({ busy: 1.7, person: 0.2 }, SECOND);
  expect(await bench.run({ busy: 0.1, person: 0.2 }, 9 * SECOND)).toEqual(["busy"]);
  expect(await bench.run({ busy: 0.1, person: 0.2 }, 2 * SECOND)).toEqual([]);
  expect(bench.restored).toEqual([["busy", "weight of busy"]]);
});

test("work with pauses stays in the background", async () => {
  const bench = createBench();
  for (let i = 0; i < 5; i++) {
    await bench.run({ bursts: 1.5 }, SECOND);
    expect(await bench.run({ bursts: 0 }, 3 * SECOND)).toEqual(["bursts"]);
  }
});

test("a sandbox that an earlier server has moved comes back too", async () => {
  const bench = createBench({ inBackground: ["old"] });
  expect(await bench.run({ old: 0 }, 9 * SECOND)).toEqual(["old"]);
  expect(await bench.run({ old: 0 }, 2 * SECOND)).toEqual([]);
  expect(bench.restored).toEqual([["old", undefined]]);
});

test("while the host's own programs leave no time, all sandboxes are in the foreground", async () => {
  const bench = createBench();
  expect(await bench.run({ busy: 1.9 }, SECOND)).toEqual(["busy"]);
  // It gets a hundredth of a core in the background, and much in the foreground.
  expect(await bench.run({ busy: 0.01, [HOST]: 1.98 }, SECOND)).toEqual([]);
  expect(bench.restored).toEqual([["busy", "weight of busy"]]);
  expect(await bench.run({ busy: 1.1, [HOST]: 0.9 }, 8 * SECOND)).toEqual([]);
  expect(await bench.run({ busy: 1.1, [HOST]: 0.9 }, 3 * SECOND)).toEqual(["busy"]);
});

test("the idle time of the machine is read only while a sandbox is in the background", async () => {
  const bench = createBench();
  const before = bench.idleReads();
  await bench.run({ person: 0.2, [HOST]: 1.7 }, 20 * SECOND);
  expect(bench.idleReads()).toBe(before);
  expect(await bench.run({ busy: 1.9 }, SECOND)).toEqual(["busy"]);
  expect(bench.idleReads()).toBeGreaterThan(before);
  // It was idle for long before, which does not count.
  expect(await bench.run({ busy: 0.01, [HOST]: 1.98 }, SECOND)).toEqual([]);
});

test("nothing is kept open of a sandbox that is gone", async () => {
  const bench = createBench();
  await bench.run({ one: 0, two: 0 }, SECOND);
  await bench.run({ two: 0 }, SECOND);
  expect([...bench.open]).toEqual(["two"]);
});

test("a sandbox that was started again is in the foreground until it is busy again", async () => {
  const bench = createBench();
  await bench.run({ busy: 2 }, SECOND);
  bench.background.clear();
  bench.usedMs.clear();
  expect(await bench.run({ busy: 0.1 }, 20 * SECOND)).toEqual([]);
  expect(bench.restored).toEqual([]);
  expect(await bench.run({ busy: 2 }, SECOND)).toEqual(["busy"]);
});

test("many sandboxes are looked at without holding the event loop for all of them", async () => {
  const bench = createBench();
  const loads = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`sandbox-${i}`, 0]));
  let turns = 0;
  const count = () => void (turns++, (counting = setImmediate(count)));
  let counting = setImmediate(count);
  await bench.run(loads, SECOND);
  clearImmediate(counting);
  expect(turns).toBeGreaterThan(3);
});

test.each([
  [[0.45, 0.45, 0.45, 0.45, 0.1], 2],
  [[0.02, 0.02, 1, 1], 2],
  [Array.from({ length: 300 }, () => 0.2), 64],
])("those in the foreground leave at least half of the processors to those in the background (%j on %i cores)", (loads, cores) => {
  const limit = backgroundLimit(loads, cores);
  const foreground = loads.filter((load) => load <= limit).reduce((sum, load) => sum + load, 0);
  expect(foreground).toBeLessThanOrEqual(cores / 2);
});
