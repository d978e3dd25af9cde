import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  editor,
  eventually,
  gone,
  openFile,
  screenText,
  seen,
  terminal,
  typeAtStart,
  typeInTerminal,
} from "../support/browser/workspace.ts";
import { openSeverableProxy, type SeverableProxy } from "../support/servers/severable-proxy.ts";
import { describeInBrowser, type BrowserSuite } from "../support/browser/browser-suite.ts";

// The numbers that the ticking terminal shows.
const ticks = async (page: Page) => (await screenText(page)).match(/(?<=^tick )\d+$/gm)?.map(Number) ?? [];

let proxy: SeverableProxy;

// Browsers reach the server through the proxy alone.
async function behindProxy(resources: AsyncDisposableStack, suite: BrowserSuite): Promise<Record<string, string>> {
  proxy = resources.use(await openSeverableProxy(() => Number(new URL(suite.berth.url).port)));
  return { BERTH_BASE_URL: `http://localhost:${proxy.port}` };
}

describeInBrowser(
  "a workspace whose connection or session goes away",
  (suite) => {
    test("a cut connection comes back with nothing lost", async () => {
      await using workspace = await suite.openWorkspace({ files: { "a.txt": "base\n" } });
      const { page } = workspace;
      await openFile(page, "a.txt");
      await typeInTerminal(page, "i=0; while sleep 0.2; do i=$((i+1)); echo tick $i; done\n");
      await eventually(() => screenText(page)).toContain("tick 1");

      proxy.sever();
      await seen(page.getByText("Reconnecting…"));
      await typeAtStart(page, "typed while away ");
      await workspace.exec("true");

      proxy.restore();
      await gone(page.getByText("Reconnecting…"));
      await eventually(() => workspace.read("a.txt")).toBe("typed while away base\n");
      const before = await ticks(page);
      await eventually(async () => (await ticks(page)).at(-1)).toBeGreaterThan(before.at(-1)!);
      // No gap and no repetition.
      expect(before).toEqual(before.map((_, i) => before[0]! + i));
    });

    test("a server that is restarted is found again by itself", async () => {
      await using workspace = await suite.openWorkspace({ files: { "a.txt": "base\n" } });
      const { page } = workspace;
      await openFile(page, "a.txt");
      await seen(terminal(page));
      await suite.berth.kill();
      await seen(page.getByText("Reconnecting…"));
      await suite.berth.start();
      await gone(page.getByText("Reconnecting…"));
      await typeAtStart(page, "after ");
      await eventually(() => workspace.read("a.txt")).toBe("after base\n");
    });

    test("parts of the page that could not be loaded come when the server answers again", async () => {
      await using workspace = await suite.openWorkspace({ files: { "README.md": "# Hello\n" }, closed: true });
      const { page } = workspace;
      const cut = /assets\/(text-editor|terminal-view)-/;
      await page.route(cut, (route) => route.abort());
      const missed = Promise.all(["text-editor", "terminal-view"].map((part) => page.waitForRequest((sent) => sent.url().includes(part))));
      await page.goto(await workspace.link());
      await missed;
      await page.unroute(cut);
      await seen(editor(page));
      await seen(terminal(page));
    });

    test("a paused session says so and goes on by itself when it is resumed", async () => {
      await using workspace = await suite.openWorkspace({ files: { "a.txt": "base\n" } });
      const { page, session } = workspace;
      await openFile(page, "a.txt");
      await suite.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/pause`);
      await seen(page.getByRole("heading", { name: "This session is paused" }));

      await suite.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/resume`);
      await gone(page.getByRole("heading", { name: "This session is paused" }));
      await typeAtStart(page, "resumed ");
      await eventually(() => workspace.read("a.txt")).toBe("resumed base\n");
      await typeInTerminal(page, "echo go-$((40+2))\n");
      await eventually(() => screenText(page)).toContain("go-42");
    });

    test("a terminal that a pause prevented is there after the resume", async () => {
      await using workspace = await suite.openWorkspace({ closed: true });
      const { page, session } = workspace;
      const refused = page.waitForResponse((response) => response.request().method() === "POST" && response.status() === 409);
      const answer = { status: 409, json: { error: "Session is paused" } };
      await page.route("**/api/terminals", (route) => route.fulfill(answer), { times: 1 });
      await page.goto(await workspace.link());
      await refused;
      await suite.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/pause`);
      await suite.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/resume`);
      await typeInTerminal(page, "echo go-$((40+2))\n");
      await eventually(() => screenText(page)).toContain("go-42");
    });

    test("a workspace opened while its session is paused comes alive when it is resumed", async () => {
      await using workspace = await suite.openWorkspace({ files: { "a.txt": "base\n" }, closed: true });
      const { page, session } = workspace;
      await suite.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/pause`);
      await page.goto(await workspace.link());
      await seen(page.getByRole("heading", { name: "This session is paused" }));
      await suite.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/resume`);
      await openFile(page, "a.txt");
    });

    test("a session whose time is nearly up says so in time", async () => {
      await using workspace = await suite.openWorkspace({ create: { timeoutMs: 60_000 } });
      const { page } = workspace;
      await eventually(() => page.getByRole("timer").textContent()).toMatch(/^\d+ s left$/);
      await seen(page.getByText("This session will be paused in a few minutes"));
    });

    test("a destroyed session says farewell", async () => {
      await using workspace = await suite.openWorkspace({ files: { "a.txt": "base\n" } });
      await openFile(workspace.page, "a.txt");
      await suite.berth.api.call("DELETE", `/api/b2b/sessions/${workspace.session.sessionId}`);
      await seen(workspace.page.getByRole("heading", { name: "This session has ended" }));
    });

    test("text that was not saved when the session ended can still be kept", async () => {
      await using workspace = await suite.openWorkspace({ files: { "a.txt": "base\n" } });
      const { page } = workspace;
      await page.getByRole("button", { name: "Autosave: on" }).click();
      await openFile(page, "a.txt");
      await typeAtStart(page, "unsaved ");
      await suite.berth.api.call("DELETE", `/api/b2b/sessions/${workspace.session.sessionId}`);
      const downloading = page.waitForEvent("download");
      await page.getByRole("button", { name: "Save a copy of a.txt" }).click();
      expect((await downloading).suggestedFilename()).toBe("a.txt");
    });

    test("a forged link opens nothing and says so to a person", async () => {
      await using workspace = await suite.openWorkspace({ closed: true });
      const forged = new URL(await workspace.link());
      forged.searchParams.set("sig", "A".repeat(43));
      const answer = await workspace.page.goto(forged.href);
      expect(answer?.status()).toBeGreaterThanOrEqual(400);
      await seen(workspace.page.getByRole("heading"));
      expect(await workspace.page.locator("body").innerText()).not.toContain("{");
      expect(await workspace.page.getByRole("treeitem").count()).toBe(0);
    });

    test("without its cookie the page says that one is signed out", async () => {
      await using workspace = await suite.openWorkspace({ files: { "a.txt": "base\n" } });
      await openFile(workspace.page, "a.txt");
      await workspace.page.context().clearCookies();
      proxy.sever();
      proxy.restore();
      await seen(workspace.page.getByRole("heading", { name: "You are signed out of this workspace" }));
    });
  },
  { settings: behindProxy },
);
