import { expect, test } from "vitest";
import { createSemaphore } from "./semaphore.ts";

const never = new AbortController().signal;

test("at most so many are inside at a time, in the order they came", async () => {
  const semaphore = createSemaphore(3);
  const order: number[] = [];
  let inside = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      semaphore(never, async () => {
        order.push(index);
        most = Math.max(most, ++inside);
        await new Promise((resolve) => setImmediate(resolve));
        inside--;
      }),
    ),
  );
  expect(most).toBe(3);
  expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index));
});

test("one that gives up while it waits takes no place, and one that fails gives its place back", async () => {
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
