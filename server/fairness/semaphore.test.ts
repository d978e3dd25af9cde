import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { MINUTE } from "../clock.ts";
import { createSemaphore, type SemaphoreOptions } from "./semaphore.ts";

const task = (holder: string | null) => ({ holder, signal: new AbortController().signal });

test("runs at most the given number of tasks at a time, in the order of arrival", async () => {
  const semaphore = createSemaphore({ permits: 3 });
  const order: number[] = [];
  let running = 0;
  let mostRunning = 0;
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      semaphore(task("a"), async () => {
        order.push(index);
        mostRunning = Math.max(mostRunning, ++running);
        await setImmediate();
        running--;
      }),
    ),
  );
  expect(mostRunning).toBe(3);
  expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index));
});

test("an aborted waiter takes no permit, and a failed task releases its permit", async () => {
  const semaphore = createSemaphore({ permits: 1 });
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = semaphore(task("a"), () => promise);
  const giveUp = new AbortController();
  const second = semaphore({ holder: "a", signal: giveUp.signal }, async () => "second");
  const third = semaphore(task("a"), () => Promise.reject(new Error("third")));
  giveUp.abort(new Error("gave up"));
  await expect(second).rejects.toThrow("gave up");
  resolve();
  await first;
  await expect(third).rejects.toThrow("third");
  expect(await semaphore(task("a"), async () => "fourth")).toBe("fourth");
});

// Starts tasks that run until the test ends them, and reports which run.
function openTasks(options: SemaphoreOptions) {
  const semaphore = createSemaphore(options);
  const running: { name: string; end: () => void }[] = [];
  return {
    async begin(holder: string | null, count = 1) {
      const name = holder ?? "server";
      for (let i = 0; i < count; i++) void semaphore(task(holder), () => new Promise<void>((end) => void running.push({ name, end })));
      await setImmediate();
    },
    running: () => running.map(({ name }) => name),
    async end(name: string) {
      const [ended] = running.splice(
        running.findIndex((each) => each.name === name),
        1,
      );
      ended?.end();
      await setImmediate();
    },
  };
}

test("a holder with one task waits for the end of one task, however many another one has queued", async () => {
  const tasks = openTasks({ permits: 2 });
  await tasks.begin("flood", 20);
  await tasks.begin("neighbour");
  await tasks.begin(null);
  expect(tasks.running()).toEqual(["flood", "flood"]);
  await tasks.end("flood");
  expect(tasks.running()).toEqual(["flood", "neighbour"]);
  await tasks.end("neighbour");
  await tasks.end("flood");
  expect(tasks.running()).toEqual(["server", "flood"]);
});

test("permits stay free for others while there are others, and only then", async () => {
  let nowMs = 0;
  const tasks = openTasks({ permits: 4, perHolder: 2, nowMs: () => nowMs });
  await tasks.begin("flood", 20);
  await tasks.begin(null);
  expect(tasks.running()).toEqual(["flood", "flood", "flood", "flood"]);
  await tasks.begin("neighbour");
  await tasks.end("flood");
  await tasks.end("flood");
  await tasks.end("neighbour");
  await tasks.end("server");
  expect(tasks.running()).toEqual(["flood", "flood"]);
  await tasks.begin("neighbour");
  expect(tasks.running()).toEqual(["flood", "flood", "neighbour"]);
  await tasks.end("neighbour");
  nowMs += 2 * MINUTE;
  await tasks.end("flood");
  expect(tasks.running()).toEqual(["flood", "flood", "flood", "flood"]);
});
