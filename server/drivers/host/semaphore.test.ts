import { expect, test } from "vitest";
import { createTurnstile } from "./semaphore.ts";

const never = new AbortController().signal;

test("at most so many are inside at a time, in the order they came", async () => {
  const turnstile = createTurnstile(3);
  const order: number[] = [];
  let inside = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      turnstile(never, async () => {
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
  const turnstile = createTurnstile(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = turnstile(never, () => promise);
  const giveUp = new AbortController();
  const second = turnstile(giveUp.signal, async () => "second");
  const third = turnstile(never, () => Promise.reject(new Error("third")));
  giveUp.abort(new Error("gave up"));
  await expect(second).rejects.toThrow("gave up");
  resolve();
  await first;
  await expect(third).rejects.toThrow("third");
  expect(await turnstile(never, async () => "fourth")).toBe("fourth");
});
