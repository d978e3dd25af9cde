import { once } from "node:events";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { attachScreen, createTerminal } from "../testing/terminal-screen.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeEach(async () => void (daemon = await startTestDaemon()));
afterEach(() => daemon[Symbol.asyncDispose]());

const MB = 1024 * 1024;

describe("terminals", () => {
  test("continue at the offset of a client that reconnects, and send everything to a new client", async () => {
    const { id } = await createTerminal(daemon);
    const first = await attachScreen(daemon, id);
    first.type("echo o''ne\n");
    await first.shows("one\r\n");
    const seen = first.bytes;
    await first.close();

    const second = await attachScreen(daemon, id, seen);
    second.type("echo t''wo\n");
    await second.shows("two\r\n");
    expect(second.text()).not.toContain("one");
    expect(second.messages[0]).toMatchObject({ type: "attached", offset: seen, reset: false });

    const third = await attachScreen(daemon, id);
    await third.shows("two\r\n");
    expect(third.text()).toContain("one\r\n");
    expect(third.messages[0]).toMatchObject({ type: "attached", offset: 0, reset: true });
    await second.close();
    await third.close();
  });

  test("are shared: every client sees the output and can type, and the size is that of a client that is still there", async () => {
    const { id } = await createTerminal(daemon);
    const [first, second] = [await attachScreen(daemon, id), await attachScreen(daemon, id)];
    first.type("echo fr''om first\n");
    await second.shows("from first");
    second.type("echo fr''om second\n");
    await first.shows("from second");
    first.socket.send(JSON.stringify({ type: "resize", cols: 100, rows: 40 }));
    await expect.poll(() => second.messages).toContainEqual({ type: "resized", cols: 100, rows: 40 });
    first.type("stty size\n");
    await first.shows("40 100");

    second.socket.send(JSON.stringify({ type: "resize", cols: 60, rows: 20 }));
    await expect.poll(() => first.messages).toContainEqual({ type: "resized", cols: 60, rows: 20 });
    await second.close();
    await expect.poll(() => first.messages.at(-1)).toEqual({ type: "resized", cols: 100, rows: 40 });
    await first.close();
  });

  test("have the size of the client that was used last, not of one that only looks", async () => {
    const { id } = await createTerminal(daemon);
    const [used, looking] = [await attachScreen(daemon, id), await attachScreen(daemon, id)];
    // The daemon has read the message when it answers the ping.
    const resize = async ({ socket }: typeof used, size: object) => {
      socket.send(JSON.stringify({ type: "resize", ...size }));
      socket.ping();
      await once(socket, "pong");
    };
    const sizes = () => used.messages.flatMap((message) => (message.type === "resized" ? [message.cols] : []));
    await resize(used, { cols: 100, rows: 40, unusedMs: null });
    await resize(looking, { cols: 60, rows: 20, unusedMs: null });
    await resize(looking, { cols: 61, rows: 20, unusedMs: null });
    // Both connections come back after a loss: one was used a minute ago, the other one an hour ago.
    await resize(used, { cols: 101, rows: 40, unusedMs: 60_000 });
    await resize(looking, { cols: 62, rows: 20, unusedMs: 3_600_000 });
    await resize(looking, { cols: 63, rows: 20, unusedMs: 0 });
    await resize(used, { cols: 102, rows: 40, unusedMs: 60_000 });
    expect(sizes()).toEqual([100, 101, 63]);
    await looking.close();
    await expect.poll(sizes).toEqual([100, 101, 63, 102]);
    await used.close();
  });

  test("forget the output above the current line when a client clears them", async () => {
    const { id } = await createTerminal(daemon);
    const first = await attachScreen(daemon, id);
    const second = await attachScreen(daemon, id);
    first.type("PS1='pro''mpt>'; echo be''fore\n");
    await second.shows("before\r\nprompt>");
    first.socket.send(JSON.stringify({ type: "clear" }));
    await expect.poll(() => second.messages).toContainEqual({ type: "cleared" });
    expect(first.messages).not.toContainEqual({ type: "cleared" });
    const third = await attachScreen(daemon, id);
    await third.shows("prompt>");
    expect(third.text()).toBe("prompt>");
    first.type("echo af''ter\n");
    await third.shows("after");
    const fourth = await attachScreen(daemon, id);
    await fourth.shows("prompt>echo");
    for (const screen of [first, second, third, fourth]) await screen.close();
    // The same holds after a restart of the daemon.
    await daemon.stop();
    await daemon.restart();
    const restored = await attachScreen(daemon, id);
    await restored.shows("after");
    expect(restored.text()).not.toContain("before");
    await restored.close();
  });

  test("use less than 40 MB of private memory for 100 MB of output, with a reading and a stalled client", async () => {
    const { id } = await createTerminal(daemon, {
      command: ["/bin/sh", "-c", "read go; yes 0123456789012345678901234567890123456789 | head -c 100000000; echo; echo D''ONE; read end"],
    });
    const [reader, stalled] = [await attachScreen(daemon, id), await attachScreen(daemon, id)];
    stalled.socket.pause();
    reader.type("\n");
    let peak = 0;
    const meter = setInterval(() => (peak = Math.max(peak, privateMb(daemon.pid))), 50);
    try {
      await expect.poll(() => reader.text().endsWith("DONE\r\n"), { timeout: 60_000 }).toBe(true);
    } finally {
      clearInterval(meter);
    }
    expect(peak).toBeLessThan(40);

    // When the stalled client reads again, it is reset and sees the end.
    stalled.socket.resume();
    await expect.poll(() => stalled.text().endsWith("DONE\r\n")).toBe(true);
    expect(stalled.messages).toContainEqual(expect.objectContaining({ type: "attached", reset: true }));
    expect(stalled.bytes).toBeLessThan(20 * MB);
    console.log(`100 MB through a terminal: peak private memory ${peak} MB, reader got ${Math.round(reader.bytes / MB)} MB`);
    await reader.close();
    await stalled.close();
  }, 90_000);

  test("apply back-pressure to input that the program does not read", async () => {
    const { id } = await createTerminal(daemon, { command: ["/bin/sh", "-c", "stty raw -echo; echo ready; sleep 600"] });
    const screen = await attachScreen(daemon, id);
    await screen.shows("ready");
    const chunk = Buffer.alloc(512 * 1024, "x");
    for (let i = 0; i < 60; i++) screen.socket.send(chunk);
    // Wait until the socket stops draining.
    let before = -1;
    await expect.poll(() => before === (before = screen.socket.bufferedAmount), { interval: 200 }).toBe(true);
    expect(before).toBeGreaterThan(0);
    expect(privateMb(daemon.pid)).toBeLessThan(40);
    expect((await daemon.fetch("/health")).status).toBe(200);
    screen.socket.terminate();
  });
});

// Counts only the pages that the process has written. Clean pages belong to the Node binary, and count as private if no other
// process maps them.
function privateMb(pid: number): number {
  const [, kb] = /^Private_Dirty:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))!;
  return Math.round(Number(kb) / 1024);
}
