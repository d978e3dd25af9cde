import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startFrequentTimer } from "./frequent-timers.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

// Starts a timer at that time, and returns when it has fired.
function startAt(ms: number, periodMs: number) {
  const firedMs: number[] = [];
  vi.advanceTimersByTime(ms - performance.now());
  const timer = startFrequentTimer(periodMs, () => firedMs.push(performance.now()));
  return { firedMs, [Symbol.dispose]: () => timer[Symbol.dispose]() };
}

test("timers that were started at different times fire together, each with its period", () => {
  using fast = startAt(3, 100);
  using middle = startAt(77, 250);
  using slow = startAt(190, 500);
  vi.advanceTimersByTime(10_000);
  for (const [timer, periodMs] of [
    [fast, 100],
    [middle, 250],
    [slow, 500],
  ] as const) {
    const first = timer.firedMs[0]!;
    expect(timer.firedMs).toEqual(timer.firedMs.map((_, index) => first + index * periodMs));
    expect(timer.firedMs.length).toBeGreaterThanOrEqual(10_000 / periodMs - 1);
  }
  const moments = new Set([fast, middle, slow].flatMap(({ firedMs }) => firedMs.filter((ms) => ms >= 1_000 && ms < 2_000)));
  expect(moments.size).toBe(12);
});

test("the first call comes after half of the period at the earliest", () => {
  for (const startMs of [1, 499, 501, 999]) {
    using timer = startAt(performance.now() + startMs, 1_000);
    vi.advanceTimersByTime(500);
    expect(timer.firedMs).toEqual([]);
    vi.advanceTimersByTime(1_000);
    expect(timer.firedMs).toHaveLength(1);
  }
});

test("a timer that is disposed of fires no more, also if another one that is due does it", () => {
  using first = startAt(0, 100);
  const fired: string[] = [];
  const disposing = startFrequentTimer(100, () => other[Symbol.dispose]());
  const other = startFrequentTimer(100, () => fired.push("other"));
  vi.advanceTimersByTime(1_000);
  disposing[Symbol.dispose]();
  expect(fired).toEqual([]);
  expect(first.firedMs).toHaveLength(10);
});

test("a timer that is started while another one is overdue is no reason for a warning", () => {
  vi.useRealTimers();
  const warn = vi.spyOn(process, "emitWarning");
  const overdue = startFrequentTimer(10, () => {});
  for (const endMs = performance.now() + 50; performance.now() < endMs;);
  startFrequentTimer(10, () => {})[Symbol.dispose]();
  overdue[Symbol.dispose]();
  expect(warn).not.toHaveBeenCalled();
  warn.mockRestore();
});
