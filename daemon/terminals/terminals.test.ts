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

// A browser's copy of a terminal.
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
  test("forget the output above the current line when a client clears them", async () => {
    const { id } = await create();
    const first = await attach(id);
    const second = await attach(id);
    first.type("PS1='pro''mpt>'; echo be''fore\n");
    await second.shows("before\r\nprompt>");
    first.socket.send(JSON.stringify({ type: "clear" }));
    await expect.poll(() => second.messages).toContainEqual({ type: "cleared" });
    expect(first.messages).not.toContainEqual({ type: "cleared" });
    const third = await attach(id);
    await third.shows("prompt>");
    expect(third.text()).toBe("prompt>");
    first.type("echo af''ter\n");
    await third.shows("after");
    const fourth = await attach(id);
    await fourth.shows("prompt>echo");
    for (const screen of [first, second, third, fourth]) await screen.close();
    // After a restart of the daemon, too.
    await daemon.stop();
    await daemon.restart();
    const restored = await attach(id);
    await restored.shows("after");
    expect(restored.text()).not.toContain("before");
    await restored.close();
  });

  test("run a shell in the workspace and send it the input", async () => {
    const { id } = await create();
    const screen = await attach(id);
    screen.type("pwd; echo $TERM $((6*7)); test -t 0 && echo tty\n");
    await screen.shows(`${daemon.workspace}\r\n`);
    await screen.shows("xterm-256color 42\r\ntty");
    expect(screen.messages[0]).toMatchObject({ type: "attached", offset: 0, reset: true });
    await screen.close();
  });

  test("start bash with a prompt by default", async () => {
    const { id } = (await daemon.fetch<Terminal>("/terminals", { method: "POST", body: { cols: 80, rows: 24 } })).json;
    const screen = await attach(id);
    await screen.shows("workspace");
    screen.type("echo status=$? sh=$0 rows=$(tput lines)\n");
    await screen.shows("status=0");
    await screen.shows("bash rows=24");
    expect((await daemon.fetch("/terminals")).json.terminals).toMatchObject([{ id, title: "Terminal 1", exit: null }]);
    await screen.close();
  });

  test("report the program in the foreground", async () => {
    const { id } = (await daemon.fetch<Terminal>("/terminals", { method: "POST", body: { cols: 80, rows: 24 } })).json;
    const screen = await attach(id);
    const program = async () => (await daemon.fetch("/terminals")).json.terminals[0]!.program;
    await screen.shows("workspace");
    screen.type("sleep 600\n");
    await expect.poll(program).toBe("sleep");
    screen.type("\x03");
    await expect.poll(program).toBeNull();
    await screen.close();
  });

  test("continue at the offset of a client that reconnects, and send everything to a new client", async () => {
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

  test("are shared: every client sees the output and can type, and the size is that of a client that is still there", async () => {
    const { id } = await create();
    const [first, second] = [await attach(id), await attach(id)];
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

  test("report the exit status and keep the output", async () => {
    const { id } = await create({ command: ["/bin/sh", "-c", "echo bye; exit 3"] });
    await expect.poll(async () => (await daemon.fetch("/terminals")).json.terminals[0]!.exit).toEqual({ code: 3, signal: null });
    const screen = await attach(id);
    await screen.shows("bye");
    await expect.poll(() => screen.messages.at(-1)).toEqual({ type: "exit", code: 3, signal: null });
    await screen.close();
  });

  test("are removed by a delete, together with their program", async () => {
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

  test("are restored after a stop with their scrollback and a new shell in the same folder", async () => {
    await daemon.fetch("/files/folder", { method: "POST", body: { path: "deep/er" } });
    const { id } = await create();
    const before = await attach(id);
    before.type("cd deep/er && echo rem''ember\n");
    await before.shows("remember");
    await daemon.fetch("/internal/stop", { method: "POST", body: {} });
    await daemon.stop("SIGTERM");
    await daemon.restart();

    const after = await attach(id);
    await after.shows("[processes were stopped while the session was paused]");
    expect(after.text()).toContain("remember");
    after.type("echo now in $(pwd)\n");
    await after.shows(`now in ${join(daemon.workspace, "deep/er")}`);
    await after.close();
  });

  test("are restored if the session starts again without having stopped", async () => {
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

  test("are restored after SIGTERM, and an exited one stays exited", async () => {
    const { id } = await create({ command: ["/bin/sh", "-c", "echo over"] });
    await expect.poll(async () => (await daemon.fetch("/terminals")).json.terminals[0]!.exit).not.toBeNull();
    await daemon.stop("SIGTERM");
    await daemon.restart();
    const screen = await attach(id);
    await screen.shows("over");
    expect(screen.text()).not.toContain("processes were stopped");
    await screen.close();
  });

  test("use less than 40 MB of private memory for 100 MB of output, with a reading and a stalled client", async () => {
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

    // When the stalled client reads again, it is reset and sees the end.
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
  ])("refuse %j and name %s", async (body, field) => {
    const reply = await daemon.fetch("/terminals", { method: "POST", body });
    expect(reply.status).toBe(400);
    expect(reply.json.error).toContain(field);
  });

  test("keep working when their output cannot be saved", async () => {
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

  test("apply back-pressure to input that the program does not read", async () => {
    const { id } = await create({ command: ["/bin/sh", "-c", "stty raw -echo; echo ready; sleep 600"] });
    const screen = await attach(id);
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

  test("ignore malformed messages", async () => {
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

// Counts only the pages that the process has written. Clean pages belong to the Node binary, and count as private if no other
// process maps them.
function privateMb(pid: number): number {
  const [, kb] = /^Private_Dirty:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))!;
  return Math.round(Number(kb) / 1024);
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
