import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Registry } from "prom-client";
import { expect, test, vi } from "vitest";
import { startTestApp } from "../http/testing/test-app.ts";
import { silentLog, type Log } from "../log.ts";
import { createLoopWatch } from "./loop-watch.ts";
import { markWork, runWork } from "./loop-work.ts";
import { openStore } from "../store/open.ts";

// A busy machine may stall on its own and report another name, so each test repeats its attempt until the watch reports it.
const BLOCK_MS = 250;
function block(): void {
  for (const endMs = performance.now() + BLOCK_MS; performance.now() < endMs;);
}

// Without using a CPU, like a thread that gets none.
function wait(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

interface StallLine {
  handler: string;
  ms: number;
  cpuMs: number;
}

function openWatch() {
  const lines: StallLine[] = [];
  const log: Log = { ...silentLog, warn: (event, fields) => void (event === "loop.stalled" && lines.push(fields as StallLine)) };
  const registry = new Registry();
  const watch = createLoopWatch({ log, registry });
  const stallsOf = async (handler: string) => {
    const counter = new RegExp(`^berth_event_loop_stall_seconds_count\\{handler="${handler}"\\} (\\d+)$`, "m");
    return Number(counter.exec(await registry.metrics())?.[1] ?? 0);
  };
  return { lines, registry, stallsOf, [Symbol.dispose]: () => watch[Symbol.dispose]() };
}

test("the handler that blocks the loop is reported, and not those that ran before and after it", async () => {
  using watch = openWatch();
  const provoke = () => {
    markWork({ name: "before" });
    runWork({ name: "culprit" }, block);
    markWork({ name: "after" });
    markWork({ name: "rest" });
    return watch.lines.find(({ handler }) => handler === "culprit");
  };
  await expect.poll(provoke).toBeDefined();
  const line = watch.lines.find(({ handler }) => handler === "culprit")!;
  expect(line.ms).toBeGreaterThan(BLOCK_MS - 25);
  expect(line.cpuMs).toBeGreaterThan(0);
  expect(await watch.stallsOf("before")).toBe(0);
  expect(await watch.stallsOf("after")).toBe(0);
  expect(await watch.registry.metrics()).toMatch(/^berth_event_loop_longest_stall_seconds (0\.[2-9]|[1-9])/m);
});

test("stalls in which the thread did not run are counted, but logged once a minute and apart from those of our own work", async () => {
  using watch = openWatch();
  const stall = async () => {
    runWork({ name: "waiting" }, () => wait(600));
    await new Promise((resolve) => setTimeout(resolve, 30));
  };
  for (let round = 0; round < 3; round++) await stall();
  expect(await watch.stallsOf("waiting")).toBe(3);
  expect(watch.lines.filter(({ handler }) => handler === "waiting")).toHaveLength(1);
  await expect.poll(() => (runWork({ name: "culprit" }, block), watch.lines.some(({ handler }) => handler === "culprit"))).toBe(true);
});

// Counts the looks of the watch.
function countLooks() {
  const looks = vi.spyOn(process, "threadCpuUsage");
  // Resolves to how long that many more looks took.
  const passed = async (count: number) => {
    const [startedMs, target] = [performance.now(), looks.mock.calls.length + count];
    await vi.waitUntil(() => looks.mock.calls.length >= target, { interval: 1, timeout: 10_000 });
    return performance.now() - startedMs;
  };
  return { passed, [Symbol.dispose]: () => looks.mockRestore() };
}

test("an idle loop is looked at a few times a second, and often again from the first mark", async () => {
  const quietMs = 200;
  using looks = countLooks();
  using watch = openWatch();
  await vi.waitUntil(async () => (await looks.passed(1)) > quietMs, { interval: 1, timeout: 5_000 });
  expect(await looks.passed(3)).toBeGreaterThan(3 * quietMs);
  const isSeenSoon = async () => {
    markWork({ name: "first" });
    return (await looks.passed(1)) < quietMs;
  };
  await expect.poll(isSeenSoon).toBe(true);
  expect(watch.lines.filter(({ handler }) => handler === "first")).toEqual([]);
});

test("work without a mark that blocks an idle loop is reported", async () => {
  using watch = openWatch();
  const provoke = async () => {
    for (const endMs = performance.now() + 2 * BLOCK_MS; performance.now() < endMs;);
    await nextTurn();
    return watch.stallsOf("unmarked");
  };
  await expect.poll(provoke, { interval: 2 * BLOCK_MS }).toBeGreaterThan(0);
});

test("the delays since the last scrape count an idle loop as often as a busy one", async () => {
  using looks = countLooks();
  using watch = openWatch();
  runWork({ name: "culprit" }, block);
  await looks.passed(5);
  const text = await watch.registry.metrics();
  const lag = (name: string) => Number(new RegExp(`^berth_nodejs_eventloop_lag_${name}_seconds (\\S+)$`, "m").exec(text)?.[1]);
  expect(lag("max")).toBeGreaterThan(BLOCK_MS / 1000);
  expect(lag("p50")).toBeLessThan(0.1);
  expect(lag("min")).toBeGreaterThan(0.01);
});

test("work that blocks after waiting for the database is reported under its own name", async () => {
  const folder = await mkdtemp(join(tmpdir(), "berth-loop-"));
  await using store = await openStore({ file: join(folder, "berth.db"), log: silentLog });
  using watch = openWatch();
  const waiter = async () => {
    await store.db.selectFrom("partners").select("id").execute();
    block();
  };
  const provoke = async () => {
    const waited = runWork({ name: "waiter" }, waiter);
    runWork({ name: "bystander" }, () => {});
    await waited;
    await nextTurn();
    return watch.stallsOf("waiter");
  };
  await expect.poll(provoke).toBeGreaterThan(0);
  expect(await watch.stallsOf("bystander")).toBe(0);
  await rm(folder, { recursive: true });
});

test("a request is reported under its route, with and without a body", async () => {
  await using plain = await startTestApp();
  const sessions = {
    ...plain.sessions,
    read: (...asked: Parameters<typeof plain.sessions.read>) => (block(), plain.sessions.read(...asked)),
    create: (...asked: Parameters<typeof plain.sessions.create>) => (block(), plain.sessions.create(...asked)),
  };
  await using app = await startTestApp({ sessions, store: plain.store });
  using watch = openWatch();
  const get = async () => {
    await app.call("GET", "/api/b2b/sessions/ses_x");
    return watch.stallsOf("GET /api/b2b/sessions/:id");
  };
  const create = async () => {
    await app.call("POST", "/api/b2b/sessions", { body: { externalUserId: "u" } });
    return watch.stallsOf("POST /api/b2b/sessions");
  };
  await expect.poll(get).toBeGreaterThan(0);
  await expect.poll(create).toBeGreaterThan(0);
});
