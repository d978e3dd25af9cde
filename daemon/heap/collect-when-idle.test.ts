import { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startTestDaemon } from "../testing/test-daemon.ts";
import { collectWhenIdle } from "./collect-when-idle.ts";

const SECOND = 1000;
const MB = 1024 * 1024;

describe("the garbage of a daemon is collected", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function watched() {
    const [server, heap] = [new EventEmitter(), { bytes: 6 * MB, collections: 0 }];
    const collect = () => {
      heap.collections++;
      heap.bytes = 6 * MB;
    };
    collectWhenIdle(server as never, { heapBytes: () => heap.bytes, collect });
    const open = (event: "request" | "upgrade") => {
      const connection = new EventEmitter();
      server.emit(event, {}, connection);
      return () => connection.emit("close");
    };
    const call = () => open("request")();
    return { heap, open, call };
  }

  test("once, a minute after the last call", () => {
    const { heap, call } = watched();
    heap.bytes = 8 * MB;
    for (let i = 0; i < 5; i++) {
      call();
      vi.advanceTimersByTime(59 * SECOND);
    }
    expect(heap.collections).toBe(0);
    vi.advanceTimersByTime(1 * SECOND);
    expect(heap.collections).toBe(1);
    heap.bytes = 8 * MB;
    vi.advanceTimersByTime(600 * SECOND);
    expect(heap.collections).toBe(1);
    call();
    vi.advanceTimersByTime(60 * SECOND);
    expect(heap.collections).toBe(2);
  });

  test.each(["request", "upgrade"] as const)("not while a connection is open: %s", (event) => {
    const { heap, open, call } = watched();
    heap.bytes = 8 * MB;
    const close = open(event);
    vi.advanceTimersByTime(60 * SECOND);
    call();
    vi.advanceTimersByTime(60 * SECOND);
    expect(heap.collections).toBe(0);
    close();
    vi.advanceTimersByTime(60 * SECOND);
    expect(heap.collections).toBe(1);
  });

  test("not if there is little of it", () => {
    const { heap, call } = watched();
    heap.bytes = 6.5 * MB;
    call();
    vi.advanceTimersByTime(60 * SECOND);
    expect(heap.collections).toBe(0);
  });

  test("not at the end of a pause, when a timer that is due fires with the first call", () => {
    const { heap, call } = watched();
    call();
    heap.bytes = 8 * MB;
    const frozen = vi.spyOn(process, "uptime").mockReturnValue(process.uptime() + 120);
    vi.advanceTimersByTime(60 * SECOND);
    expect(heap.collections).toBe(0);
    frozen.mockRestore();
    vi.advanceTimersByTime(60 * SECOND);
    expect(heap.collections).toBe(1);
  });
});

test("a daemon that is no longer used has less private memory, and works as before", async () => {
  await using daemon = await startTestDaemon({ BERTH_COLLECT_AFTER_MS: "1000" });
  const privateKb = () => Number(/^Private_Dirty: +(\d+) kB$/m.exec(readFileSync(`/proc/${daemon.pid}/smaps_rollup`, "utf8"))![1]);
  const run = () => daemon.fetch("/exec?format=text", { method: "POST", body: { command: "echo works" } });
  await expect.poll(() => readFileSync(`/proc/${daemon.pid}/maps`, "utf8")).toContain("/daemon.heap");
  for (let i = 0; i < 60; i++) await run();
  const before = privateKb();
  await expect.poll(() => before - privateKb(), { timeout: 30 * SECOND, interval: SECOND }).toBeGreaterThan(1000);
  expect((await run()).text).toBe("works\n");
});
