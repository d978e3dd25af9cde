import { expect, test } from "vitest";
import { Cancellation, type CancelSignal } from "./cancellation.ts";

// Returns the calls of a listener, of one that is removed, and of one that is added too late.
function watchAbort(signal: CancelSignal, abort: (reason: unknown) => void) {
  const seen: unknown[] = [];
  const removed = () => seen.push("removed");
  signal.addEventListener("abort", () => seen.push(signal.reason), { once: true });
  signal.addEventListener("abort", removed, { once: true });
  signal.addEventListener("abort", () => seen.push(signal.aborted), { once: true });
  signal.removeEventListener("abort", removed);
  abort("first");
  abort("second");
  signal.addEventListener("abort", () => seen.push("late"));
  return [...seen, signal.aborted, signal.reason];
}

test("a cancellation calls its listeners as an AbortController does", () => {
  const controller = new AbortController();
  const cancellation = new Cancellation();
  const seen = watchAbort(cancellation, (reason) => cancellation.abort(reason));
  expect(seen).toEqual(watchAbort(controller.signal, (reason) => controller.abort(reason)));
  expect(seen).toEqual(["first", true, true, "first"]);
});
