import { expect, test } from "vitest";
import { withTimeout } from "./with-timeout.ts";

const timeoutError = () => new Error("too slow");

test("resolves with the value that arrives in time", async () => {
  expect(await withTimeout(Promise.resolve(1), 1000, timeoutError)).toBe(1);
});

test("rejects with the reason of the promise if it fails in time", async () => {
  await expect(withTimeout(Promise.reject(new Error("broken")), 1000, timeoutError)).rejects.toThrow("broken");
});

test("rejects with the timeout error if the promise does not settle in time", async () => {
  await expect(withTimeout(new Promise(() => {}), 1, timeoutError)).rejects.toThrow("too slow");
});
