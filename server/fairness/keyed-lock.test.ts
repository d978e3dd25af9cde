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
