import { expect, test } from "vitest";
import { createSemaphore } from "./semaphore.ts";

const never = new AbortController().signal;

test("runs at most the given number of tasks at a time, in the order of arrival", async () => {
  const semaphore = createSemaphore(3);
  const order: number[] = [];
  let running = 0;
  let mostRunning = 0;
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      semaphore(never, async () => {
        order.push(index);
        mostRunning = Math.max(mostRunning, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
      }),
    ),
  );
  expect(mostRunning).toBe(3);
  expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index));
});

test("an aborted waiter takes no permit, and a failed task releases its permit", async () => {
  const semaphore = createSemaphore(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = semaphore(never, () => promise);
  const giveUp = new AbortController();
  const second = semaphore(giveUp.signal, async () => "second");
  const third = semaphore(never, () => Promise.reject(new Error("third")));
  giveUp.abort(new Error("gave up"));
  await expect(second).rejects.toThrow("gave up");
  resolve();
  await first;
  await expect(third).rejects.toThrow("third");
  expect(await semaphore(never, async () => "fourth")).toBe("fourth");
});
