import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createReadSwitch } from "./read-switch.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("reading resumes only when the consumer has drained and the wait is over", () => {
  const stream = new Readable({ read() {} }).resume();
  const reading = createReadSwitch(stream);
  reading.waitFor(0);
  expect(stream.isPaused()).toBe(false);
  reading.waitForDrain();
  reading.waitFor(10);
  reading.drained();
  expect(stream.isPaused()).toBe(true);
  vi.advanceTimersByTime(10);
  expect(stream.isPaused()).toBe(false);
});

test("a later wait replaces an earlier one, and a wait does not resume a full consumer", () => {
  const stream = new Readable({ read() {} }).resume();
  const reading = createReadSwitch(stream);
  reading.waitFor(10);
  reading.waitFor(30);
  vi.advanceTimersByTime(20);
  expect(stream.isPaused()).toBe(true);
  reading.waitForDrain();
  vi.advanceTimersByTime(20);
  expect(stream.isPaused()).toBe(true);
  reading.drained();
  expect(stream.isPaused()).toBe(false);
});
