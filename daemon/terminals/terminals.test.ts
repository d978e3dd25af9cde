import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Terminal, TerminalFromDaemon } from "@berth/contract/daemon.ts";
import type { WebSocket } from "ws";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeEach(async () => void (daemon = await startTestDaemon()));
afterEach(() => daemon[Symbol.asyncDispose]());

const MB = 1024 * 1024;

// A browser's end of a terminal, as the workspace keeps it.
interface Screen {
  socket: WebSocket;
  messages: TerminalFromDaemon[];
  bytes: number;
  text(): string;
  shows(text: string): Promise<void>;
  type(text: string): void;
  close(): Promise<void>;
}

async function create(body: object = {}): Promise<Terminal> {
  const reply = await daemon.fetch<Terminal>("/terminals", { method: "POST", body: { cols: 80, rows: 24, command: ["/bin/sh"], ...body } });
  expect(reply.status).toBe(201);
  return reply.json;
}

async function attach(id: string, offset?: number): Promise<Screen> {
  const socket = daemon.connect(`/terminals/${id}${offset === undefined ? "" : `?offset=${offset}`}`);
  const messages: TerminalFromDaemon[] = [];
  let tail = "";
  const screen: Screen = {
    socket,
    messages,
    bytes: 0,
    text: () => tail,
    shows: async (text) => await expect.poll(() => tail).toContain(text),
    type: (text) => socket.send(Buffer.from(text), { binary: true }),
    async close() {
      if (socket.readyState === socket.CLOSED) return;
      socket.close();
      await once(socket, "close");
    },
  };
  socket.on("message", (data: Buffer, isBinary: boolean) => {
    if (!isBinary) return void messages.push(JSON.parse(data.toString()));
    screen.bytes += data.length;
    tail = (tail + data.toString("latin1")).slice(-20_000);
  });
  await once(socket, "open");
  return screen;
}

describe("terminals", () => {
  test("run a shell in the workspace that answers what is typed", async () => {
    const { id } = await create();
    const screen = await attach(id);
    screen.type("pwd; echo $TERM $((6*7)); test -t 0 && echo tty\n");
    await screen.shows(`${daemon.workspace}\r\n`);
    await screen.shows("xterm-256color 42\r\ntty");
    expect(screen.messages[0]).toMatchObject({ type: "attached", offset: 0, reset: true });
    await screen.close();
  });

  test("start bash with a prompt when nothing else is asked for", async () => {
    const { id } = (await daemon.fetch<Terminal>("/terminals", { method: "POST", body: { cols: 80, rows: 24 } })).json;
    const screen = await attach(id);
    await screen.shows("workspace");
    screen.type("echo sh=$0 rows=$(tput lines)\n");
    await screen.shows("bash rows=24");
    expect((await daemon.fetch("/terminals")).json.terminals).toMatchObject([{ id, title: "Terminal 1", exit: null }]);
    await screen.close();
  });

  test("go on for a client that comes back with its offset, and show everything to one without", async () => {
    const { id } = await create();
    const first = await attach(id);
    first.type("echo o''ne\n");
    await first.shows("one\r\n");
    const seen = first.bytes;
    await first.close();

    const second = await attach(id, seen);
    second.type("echo t''wo\n");
    await second.shows("two\r\n");
    expect(second.text()).not.toContain("one");
    expect(second.messages[0]).toMatchObject({ type: "attached", offset: seen, reset: false });

    const third = await attach(id);
    await third.shows("two\r\n");
    expect(third.text()).toContain("one\r\n");
    expect(third.messages[0]).toMatchObject({ type: "attached", offset: 0, reset: true });
    await second.close();
    await third.close();
  });

  test("are shared: all see the output, all may type, all learn of a new size", async () => {
    const { id } = await create();
    const [one, other] = [await attach(id), await attach(id)];
    one.type("echo fr''om one\n");
    await other.shows("from one");
    other.type("echo fr''om other\n");
    await one.shows("from other");
    one.socket.send(JSON.stringify({ type: "resize", cols: 100, rows: 40 }));
    await expect.poll(() => other.messages).toContainEqual({ type: "resized", cols: 100, rows: 40 });
    one.type("stty size\n");
    await one.shows("40 100");
    await one.close();
    await other.close();
  });

  test("tell the exit status and keep the output", async () => {
    const { id } = await create({ command: ["/bin/sh", "-c", "echo bye; exit 3"] });
    await expect.poll(async () => (await daemon.fetch("/terminals")).json.terminals[0]!.exit).toEqual({ code: 3, signal: null });
    const screen = await attach(id);
    await screen.shows("bye");
    await expect.poll(() => screen.messages.at(-1)).toEqual({ type: "exit", code: 3, signal: null });
    await screen.close();
  });

  test("are gone after a delete, with their program", async () => {
    const { id } = await create({ command: ["/bin/sh", "-c", "trap '' HUP; echo $$; while true; do sleep 1; done"] });
    const screen = await attach(id);
    await screen.shows("\r\n");
    const pid = Number(screen.text().trim());
    const closed = once(screen.socket, "close");
    expect((await daemon.fetch(`/terminals/${id}`, { method: "DELETE" })).status).toBe(204);
    expect((await closed)[0]).toBe(4404);
    expect((await daemon.fetch("/terminals")).json.terminals).toEqual([]);
    await expect.poll(() => alive(pid)).toBe(false);
    const late = await attach(id);
    expect((await once(late.socket, "close"))[0]).toBe(4404);
  });

  test("come back after a stop with their scrollback, in the same folder, with a fresh shell", async () => {
    await daemon.fetch("/files/folder", { method: "POST", body: { path: "deep/er" } });
    const { id } = await create();
    const before = await attach(id);
    before.type("cd deep/er && echo rem''ember\n");
    await before.shows("remember");
    await daemon.fetch("/internal/stop", { method: "POST", body: {} });
    await daemon.stop("SIGTERM");
    await daemon.restart();

    const after = await attach(id);
    await after.shows("[processes were stopped while the session slept]");
    expect(after.text()).toContain("remember");
    after.type("echo now in $(pwd)\n");
    await after.shows(`now in ${join(daemon.workspace, "deep/er")}`);
    await after.close();
  });

  test("come back when the stop did not come after all", async () => {
    const { id } = await create();
    const before = await attach(id);
    before.type("echo rem''ember\n");
    await before.shows("remember");
    const closed = once(before.socket, "close");
    await daemon.fetch("/internal/stop", { method: "POST", body: {} });
    await daemon.fetch("/internal/start", { method: "POST", body: { env: {}, agent: null, autoStartAgent: false } });
    expect((await closed)[0]).toBe(4503);
    const after = await attach(id);
    await after.shows("processes were stopped");
    after.type("echo ag''ain\n");
    await after.shows("again");
    expect(after.text()).toContain("remember");
    await after.close();
  });

  test("come back after SIGTERM alone, and an exited one stays exited", async () => {
    const { id } = await create({ command: ["/bin/sh", "-c", "echo over"] });
    await expect.poll(async () => (await daemon.fetch("/terminals")).json.terminals[0]!.exit).not.toBeNull();
    await daemon.stop("SIGTERM");
    await daemon.restart();
    const screen = await attach(id);
    await screen.shows("over");
    expect(screen.text()).not.toContain("processes were stopped");
    await screen.close();
  });

  test("take under 40 MB of memory of their own while 100 MB run through, whether a client reads, stalls or is not there", async () => {
    const { id } = await create({
      command: ["/bin/sh", "-c", "read go; yes 0123456789012345678901234567890123456789 | head -c 100000000; echo; echo D''ONE; read end"],
    });
    const [reader, stalled] = [await attach(id), await attach(id)];
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

    // The stalled one wakes up: it is told to begin anew and sees the end.
    stalled.socket.resume();
    await expect.poll(() => stalled.text().endsWith("DONE\r\n")).toBe(true);
    expect(stalled.messages).toContainEqual(expect.objectContaining({ type: "attached", reset: true }));
    expect(stalled.bytes).toBeLessThan(20 * MB);
    console.log(`100 MB through a terminal: peak private memory ${peak} MB, reader got ${Math.round(reader.bytes / MB)} MB`);
    await reader.close();
    await stalled.close();
  }, 90_000);

  test.each([
    [{ cols: 0 }, "cols"],
    [{ cols: "80" }, "cols"],
    [{ command: [] }, "command"],
    [{ command: "sh" }, "command"],
    [{ cwd: 5 }, "cwd"],
  ])("refuse %j naming %s", async (body, field) => {
    const reply = await daemon.fetch("/terminals", { method: "POST", body });
    expect(reply.status).toBe(400);
    expect(reply.json.error).toContain(field);
  });

  test("go on when their output cannot be kept", async () => {
    mkdirSync(daemon.home, { recursive: true });
    writeFileSync(join(daemon.home, ".berth"), "a file where the folder should be");
    const { id } = await create();
    const screen = await attach(id);
    screen.type("echo so''me\n");
    await screen.shows("some");
    expect((await daemon.fetch("/internal/stop", { method: "POST", body: {} })).status).toBe(200);
    expect((await daemon.fetch("/health")).status).toBe(200);
    await screen.close();
  });

  test("take no more input than a program that does not read has room for", async () => {
    const { id } = await create({ command: ["/bin/sh", "-c", "stty raw -echo; echo ready; sleep 600"] });
    const screen = await attach(id);
    await screen.shows("ready");
    const chunk = Buffer.alloc(512 * 1024, "x");
    for (let i = 0; i < 60; i++) screen.socket.send(chunk);
    // Until nobody takes any more of it.
    let before = -1;
    await expect.poll(() => before === (before = screen.socket.bufferedAmount), { interval: 200 }).toBe(true);
    expect(before).toBeGreaterThan(0);
    expect(privateMb(daemon.pid)).toBeLessThan(40);
    expect((await daemon.fetch("/health")).status).toBe(200);
    screen.socket.terminate();
  });

  test("survive nonsense from a client", async () => {
    const { id } = await create();
    const screen = await attach(id);
    for (const message of [
      "",
      "{",
      "[]",
      "null",
      '{"type":"resize","cols":-1,"rows":1e9}',
      '{"type":"drawn","offset":1e99}',
      '{"type":"?"}',
    ])
      screen.socket.send(message);
    screen.type("echo st''ill here\n");
    await screen.shows("still here");
    expect((await daemon.fetch("/terminals")).json.terminals).toMatchObject([{ id, cols: 80, rows: 24 }]);
    await screen.close();
  });
});

// Without the pages of the Node binary, which all sandboxes share.
function privateMb(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const kb = [...rollup.matchAll(/Private_\w+:\s+(\d+) kB/g)].reduce((sum, match) => sum + Number(match[1]), 0);
  return Math.round(kb / 1024);
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
