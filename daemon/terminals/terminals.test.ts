import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Terminal } from "@berth/contract/daemon.ts";
import { attachScreen, createTerminal } from "../testing/terminal-screen.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeEach(async () => void (daemon = await startTestDaemon()));
afterEach(() => daemon[Symbol.asyncDispose]());

describe("terminals", () => {
  test("run a shell in the workspace and send it the input", async () => {
    const { id } = await createTerminal(daemon);
    const screen = await attachScreen(daemon, id);
    screen.type("pwd; echo $TERM $((6*7)); test -t 0 && echo tty\n");
    await screen.shows(`${daemon.workspace}\r\n`);
    await screen.shows("xterm-256color 42\r\ntty");
    expect(screen.messages[0]).toMatchObject({ type: "attached", offset: 0, reset: true });
    await screen.close();
  });

  test("start bash with a prompt by default", async () => {
    const { id } = (await daemon.fetch<Terminal>("/terminals", { method: "POST", body: { cols: 80, rows: 24 } })).json;
    const screen = await attachScreen(daemon, id);
    await screen.shows("workspace");
    screen.type("echo status=$? sh=$0 rows=$(tput lines)\n");
    await screen.shows("status=0");
    await screen.shows("bash rows=24");
    expect((await daemon.fetch("/terminals")).json.terminals).toMatchObject([{ id, title: "Terminal 1", exit: null }]);
    await screen.close();
  });

  test("report the program in the foreground, even if it comes late and writes nothing", async () => {
    const { id } = (await daemon.fetch<Terminal>("/terminals", { method: "POST", body: { cols: 80, rows: 24 } })).json;
    const screen = await attachScreen(daemon, id);
    const program = async () => (await daemon.fetch("/terminals")).json.terminals[0]!.program;
    await screen.shows("workspace");
    screen.type("sh -c 'sleep 0.5; exec sleep 600'\n");
    await expect.poll(program).toBe("sleep");
    screen.type("\x03");
    await expect.poll(program).toBeNull();
    await screen.close();
  });

  test("report the exit status and keep the output", async () => {
    const { id } = await createTerminal(daemon, { command: ["/bin/sh", "-c", "echo bye; exit 3"] });
    await expect.poll(async () => (await daemon.fetch("/terminals")).json.terminals[0]!.exit).toEqual({ code: 3, signal: null });
    const screen = await attachScreen(daemon, id);
    await screen.shows("bye");
    await expect.poll(() => screen.messages.at(-1)).toEqual({ type: "exit", code: 3, signal: null });
    await screen.close();
  });

  test("are removed by a delete, together with their program", async () => {
    const { id } = await createTerminal(daemon, { command: ["/bin/sh", "-c", "trap '' HUP; echo $$; while true; do sleep 1; done"] });
    const screen = await attachScreen(daemon, id);
    await screen.shows("\r\n");
    const pid = Number(screen.text().trim());
    const closed = once(screen.socket, "close");
    expect((await daemon.fetch(`/terminals/${id}`, { method: "DELETE" })).status).toBe(204);
    expect((await closed)[0]).toBe(4404);
    expect((await daemon.fetch("/terminals")).json.terminals).toEqual([]);
    await expect.poll(() => alive(pid)).toBe(false);
    const late = await attachScreen(daemon, id);
    expect((await once(late.socket, "close"))[0]).toBe(4404);
  });

  test.each([
    [{ cols: 0 }, "cols"],
    [{ cols: "80" }, "cols"],
    [{ command: [] }, "command"],
    [{ command: "sh" }, "command"],
    [{ cwd: 5 }, "cwd"],
  ])("refuse %j and name %s", async (body, field) => {
    const response = await daemon.fetch("/terminals", { method: "POST", body });
    expect(response.status).toBe(400);
    expect(response.json.error).toContain(field);
  });

  test("keep working when their output cannot be saved", async () => {
    mkdirSync(daemon.home, { recursive: true });
    writeFileSync(join(daemon.home, ".berth"), "a file where the folder should be");
    const { id } = await createTerminal(daemon);
    const screen = await attachScreen(daemon, id);
    screen.type("echo so''me\n");
    await screen.shows("some");
    expect((await daemon.fetch("/internal/stop", { method: "POST", body: {} })).status).toBe(200);
    expect((await daemon.fetch("/health")).status).toBe(200);
    await screen.close();
  });

  test("ignore malformed messages", async () => {
    const { id } = await createTerminal(daemon);
    const screen = await attachScreen(daemon, id);
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

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
