import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  editor,
  eventually,
  expectGone,
  openFile,
  screenText,
  expectVisible,
  terminal,
  typeAtStart,
  typeInTerminal,
} from "../support/browser/workspace.ts";
import { openSeverableProxy, type SeverableProxy } from "../support/servers/severable-proxy.ts";
import { describeInBrowser, type BrowserSuite } from "../support/browser/browser-suite.ts";

// The tick numbers in the terminal.
const ticks = async (page: Page) => (await screenText(page)).match(/(?<=^tick )\d+$/gm)?.map(Number) ?? [];

let proxy: SeverableProxy;

// Browsers reach the server only through the proxy.
async function behindProxy(resources: AsyncDisposableStack, suite: BrowserSuite): Promise<Record<string, string>> {
  proxy = resources.use(await openSeverableProxy(() => Number(new URL(suite.berth.url).port)));
  return { BERTH_BASE_URL: `http://localhost:${proxy.port}` };
}

describeInBrowser(
  "a workspace that loses its connection or session",
  (suite) => {
    test("it reconnects without losing input or output", async () => {
      const workspace = await suite.sharedWorkspace({ "offline.txt": "base\n" });
      const { page } = workspace;
      await openFile(page, "offline.txt");
      await typeInTerminal(page, "i=0; while sleep 0.2; do i=$((i+1)); echo tick $i; done\n");
      await eventually(() => screenText(page)).toContain("tick 1");

      proxy.sever();
      await expectVisible(page.getByText("Reconnecting…"));
      await typeAtStart(page, "typed while offline ");
      await workspace.exec("true");

      proxy.restore();
      await expectGone(page.getByText("Reconnecting…"));
      await eventually(() => workspace.read("offline.txt")).toBe("typed while offline base\n");
      const before = await ticks(page);
      await eventually(async () => (await ticks(page)).at(-1)).toBeGreaterThan(before.at(-1)!);
      // The numbers have no gap and no repetition.
      expect(before).toEqual(before.map((_, i) => before[0]! + i));
      await page.locator(".terminal-view .xterm-helper-textarea").first().focus();
      // The shell ignores the key if its program ends by itself at that moment.
      await eventually(async () => {
        await page.keyboard.press("Control+C");
        return screenText(page);
      }).toMatch(/[$#%>] ?$/m);
    });

    test("it reconnects to a restarted server", async () => {
      const workspace = await suite.sharedWorkspace({ "restart.txt": "base\n" });
      const { page } = workspace;
      await openFile(page, "restart.txt");
      await expectVisible(terminal(page));
      await suite.berth.kill();
      await expectVisible(page.getByText("Reconnecting…"));
      await suite.berth.start();
      await expectGone(page.getByText("Reconnecting…"));
      await typeAtStart(page, "after ");
      await eventually(() => workspace.read("restart.txt")).toBe("after base\n");
    });

    test("modules that failed to load are loaded when the server responds again, without a reload while a person types", async () => {
      await using workspace = await suite.openWorkspace({ files: { "README.md": "# Hello\n" }, closed: true });
      const { page } = workspace;
      const cut = /assets\/(text-editor|terminal-view)-/;
      await page.route(cut, (route) => route.abort());
      const missed = Promise.all(["text-editor", "terminal-view"].map((part) => page.waitForRequest((sent) => sent.url().includes(part))));
      await page.goto(await workspace.link());
      await missed;
      await page.unroute(cut);
      await expectVisible(editor(page));
      await expectVisible(terminal(page));

      // A panel that could not be prefetched does not reload the page, in which a person may type.

      const panel = /assets\/search-panel-/;
      await page.route(panel, (route) => route.abort());
      await page.clock.install();
      const failed = page.waitForEvent("requestfailed", (request) => panel.test(request.url()));
      await page.reload();
      await expectVisible(editor(page));
      await page.clock.runFor(2000);
      await failed;
      // The page asks with HEAD whether the server responds before it reloads.
      const asked: string[] = [];
      page.on("request", (request) => request.method() === "HEAD" && asked.push(request.url()));
      await page.clock.runFor(10_000);
      await page.evaluate("fetch(location.pathname)");
      expect(asked).toEqual([]);
    });

    test("it shows that the session is paused and continues after a resume", async () => {
      const workspace = await suite.sharedWorkspace({ "pause.txt": "base\n" });
      const { page, session } = workspace;
      await openFile(page, "pause.txt");
      await suite.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/pause`);
      await expectVisible(page.getByRole("heading", { name: "This session is paused" }));

      await suite.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/resume`);
      await expectGone(page.getByRole("heading", { name: "This session is paused" }));
      await typeAtStart(page, "resumed ");
      await eventually(() => workspace.read("pause.txt")).toBe("resumed base\n");
      await typeInTerminal(page, "echo go-$((40+2))\n");
      await eventually(() => screenText(page)).toContain("go-42");
    });

    test("a terminal that could not be created during a pause, and a page opened during a pause, start after the resume", async () => {
      await using workspace = await suite.openInSamePage({ files: { "a.txt": "base\n" }, closed: true });
      const { page, session } = workspace;
      const [pause, resume] = ["pause", "resume"].map(
        (step) => () => suite.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/${step}`),
      ) as [() => Promise<unknown>, () => Promise<unknown>];
      const refused = page.waitForResponse((response) => response.request().method() === "POST" && response.status() === 409);
      const answer = { status: 409, json: { error: "Session is paused" } };
      await page.route("**/api/terminals", (route) => route.fulfill(answer), { times: 1 });
      await page.goto(await workspace.link());
      await refused;
      await pause();
      await resume();
      await typeInTerminal(page, "echo go-$((40+2))\n");
      await eventually(() => screenText(page)).toContain("go-42");

      await pause();
      await page.goto(await workspace.link());
      await expectVisible(page.getByRole("heading", { name: "This session is paused" }));
      await resume();
      await openFile(page, "a.txt");
    });

    test("it warns before an idle session is paused, and any input keeps the session running", async () => {
      await using workspace = await suite.openInSamePage({ create: { idleTimeoutMs: 10 * 60_000 } });
      const { page, session } = workspace;
      // A page that is still opening when the server ends opens again, which counts as use.
      await eventually(() => screenText(page)).toMatch(/[$#%>] ?$/m);
      // Minutes are too long for a test, so they pass in the database, while no server runs. The warning comes five minutes before.
      await suite.berth.kill();
      const idleAtMs = Date.now() + 4 * 60_000;
      using database = new DatabaseSync(join(suite.berth.dataDir, "berth.db"));
      database.prepare("update sessions set idle_at = ?1, idle_look_at = ?1 where id = ?2").run(idleAtMs, session.sessionId);
      await suite.berth.start();
      const warning = page.getByText(/This session was not used .* it will be paused at \d/);
      await expectVisible(warning);
      await page.keyboard.press("Shift");
      await eventually(() => warning.count()).toBe(0);
      const idleAt = database.prepare("select idle_at from sessions where id = ?");
      await eventually(async () => Number(idleAt.get(session.sessionId)?.idle_at)).toBeGreaterThan(idleAtMs + 60_000);
    });

    test("it warns before the session ends, shows that it has ended after a destroy, and unsaved text can be downloaded", async () => {
      await using workspace = await suite.openInSamePage({ files: { "a.txt": "base\n" }, create: { timeoutMs: 60_000 } });
      const { page } = workspace;
      await eventually(() => page.getByRole("timer").textContent()).toMatch(/^\d+ s left$/);
      await expectVisible(page.getByText(/This session will be paused at \d/));
      await page.getByRole("button", { name: "Autosave: on" }).click();
      await openFile(page, "a.txt");
      await typeAtStart(page, "unsaved ");
      await suite.berth.api.call("DELETE", `/api/b2b/sessions/${workspace.session.sessionId}`);
      await expectVisible(page.getByRole("heading", { name: "This session has ended" }));
      const downloading = page.waitForEvent("download");
      await page.getByRole("button", { name: "Save a copy of a.txt" }).click();
      expect((await downloading).suggestedFilename()).toBe("a.txt");
    });

    test("it shows that the person is signed out when the cookie is missing, and keeps the unsaved text", async () => {
      const workspace = await suite.sharedWorkspace({ "cookie.txt": "base\n" });
      const { page } = workspace;
      const signedOut = page.getByRole("heading", { name: "You are signed out of this workspace" });
      await openFile(page, "cookie.txt");
      // Any request of the page shows that the cookie is missing, so it is still there while the text is typed.
      await page.getByRole("button", { name: "Autosave: on" }).click();
      await typeAtStart(page, "not saved ");
      await eventually(() => editor(page).innerText()).toContain("not saved base");
      await page.context().clearCookies();
      // The connections of this page are still open.
      await page.keyboard.press("Control+s");
      await expectVisible(signedOut);
      await expectVisible(page.getByText("Your unsaved changes are kept in this browser."));
      expect(await page.getByText("Unauthorized").count()).toBe(0);
      await page.goto(await workspace.link());
      await eventually(() => editor(page).innerText()).toContain("not saved base");
      await page.getByRole("button", { name: "Autosave: off" }).click();
      await eventually(() => workspace.read("cookie.txt")).toBe("not saved base\n");

      await page.context().clearCookies();
      proxy.sever();
      proxy.restore();
      await expectVisible(signedOut);
    });
  },
  { settings: behindProxy },
);
