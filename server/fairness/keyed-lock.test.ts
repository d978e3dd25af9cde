import { expect, test } from "vitest";
import { createKeyedLock } from "./keyed-lock.ts";

test("work with the same key runs one after the other, in the order of the calls", async () => {
  const withLock = createKeyedLock();
  const events: string[] = [];
  const work = (name: string) => async () => {
    events.push(`${name} starts`);
    await new Promise((resolve) => setImmediate(resolve));
    events.push(`${name} ends`);
    return name;
  };
  expect(await Promise.all([withLock("key", work("first")), withLock("key", work("second"))])).toEqual(["first", "second"]);
  expect(events).toEqual(["first starts", "first ends", "second starts", "second ends"]);
});

test("work with another key does not wait", async () => {
  const withLock = createKeyedLock();
  const { promise, resolve } = Promise.withResolvers<void>();
  const blocked = withLock("key", () => promise);
  expect(await withLock("other", async () => "done")).toBe("done");
  resolve();
  await blocked;
});

test("work that fails rejects its own call and releases the lock", async () => {
  const withLock = createKeyedLock();
  const failing = withLock("key", () => Promise.reject(new Error("broken")));
  const next = withLock("key", async () => "done");
  await expect(failing).rejects.toThrow("broken");
  expect(await next).toBe("done");
});

test("a call whose signal aborts gives up at once, and work behind it still waits for the work before it", async () => {
  const lock = createKeyedLock();
  const [first, gone] = [Promise.withResolvers<void>(), new AbortController()];
  const order: string[] = [];
  const running = lock("a", () => first.promise.then(() => void order.push("first")));
  const waiting = lock("a", async () => void order.push("aborted"), gone.signal);
  const last = lock("a", async () => void order.push("last"), new AbortController().signal);
  gone.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  await expect(lock("a", async () => {}, gone.signal)).rejects.toThrow("gone");
  expect(order).toEqual([]);
  first.resolve();
  await Promise.all([running, last]);
  expect(order).toEqual(["first", "last"]);
});
