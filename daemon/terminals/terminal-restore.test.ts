import { once } from "node:events";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { attachScreen, createTerminal } from "../testing/terminal-screen.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeEach(async () => void (daemon = await startTestDaemon()));
afterEach(() => daemon[Symbol.asyncDispose]());

describe("terminals", () => {
  test("are restored after a stop with their scrollback and a new shell in the same folder", async () => {
    await daemon.fetch("/files/folder", { method: "POST", body: { path: "deep/er" } });
    const { id } = await createTerminal(daemon);
    const before = await attachScreen(daemon, id);
    before.type("cd deep/er && echo rem''ember\n");
    await before.shows("remember");
    await daemon.fetch("/internal/stop", { method: "POST", body: {} });
    await daemon.stop("SIGTERM");
    await daemon.restart();

    const after = await attachScreen(daemon, id);
    await after.shows("[processes were stopped while the session was paused]");
    expect(after.text()).toContain("remember");
    after.type("echo now in $(pwd)\n");
    await after.shows(`now in ${join(daemon.workspace, "deep/er")}`);
    await after.close();
  });

  test("are restored if the session starts again without having stopped", async () => {
    const { id } = await createTerminal(daemon);
    const before = await attachScreen(daemon, id);
    before.type("echo rem''ember\n");
    await before.shows("remember");
    const closed = once(before.socket, "close");
    await daemon.fetch("/internal/stop", { method: "POST", body: {} });
    await daemon.fetch("/internal/start", { method: "POST", body: { env: {}, agent: null, autoStartAgent: false } });
    expect((await closed)[0]).toBe(4503);
    const after = await attachScreen(daemon, id);
    await after.shows("processes were stopped");
    after.type("echo ag''ain\n");
    await after.shows("again");
    expect(after.text()).toContain("remember");
    await after.close();
  });

  test("are restored after SIGTERM, and an exited one stays exited", async () => {
    const { id } = await createTerminal(daemon, { command: ["/bin/sh", "-c", "echo over"] });
    await expect.poll(async () => (await daemon.fetch("/terminals")).json.terminals[0]!.exit).not.toBeNull();
    await daemon.stop("SIGTERM");
    await daemon.restart();
    const screen = await attachScreen(daemon, id);
    await screen.shows("over");
    expect(screen.text()).not.toContain("processes were stopped");
    await screen.close();
  });
});
