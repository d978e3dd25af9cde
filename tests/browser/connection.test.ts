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
import { layCable, type Cable } from "../support/servers/severable-proxy.ts";
import { inBrowser, type Stage } from "../support/browser/browser-suite.ts";

// The numbers that the ticking terminal shows.
const ticks = async (page: Page) => (await screenText(page)).match(/(?<=^tick )\d+$/gm)?.map(Number) ?? [];

let cable: Cable;

// Browsers reach the server through the cable alone.
async function behindCable(props: AsyncDisposableStack, stage: Stage): Promise<Record<string, string>> {
  cable = props.use(await layCable(() => Number(new URL(stage.berth.url).port)));
  return { BERTH_BASE_URL: `http://localhost:${cable.port}` };
}

inBrowser(
  "a workspace whose connection or session goes away",
  (stage) => {
    test("a cut connection comes back with nothing lost", async () => {
      await using desk = await stage.openDesk({ files: { "a.txt": "base\n" } });
      const { page } = desk;
      await openFile(page, "a.txt");
      await typeInTerminal(page, "i=0; while sleep 0.2; do i=$((i+1)); echo tick $i; done\n");
      await eventually(() => screenText(page)).toContain("tick 1");

      cable.pull();
      await seen(page.getByText("Reconnecting…"));
      await typeAtStart(page, "typed while away ");
      await desk.exec("true");

      cable.plug();
      await gone(page.getByText("Reconnecting…"));
      await eventually(() => desk.read("a.txt")).toBe("typed while away base\n");
      const before = await ticks(page);
      await eventually(async () => (await ticks(page)).at(-1)).toBeGreaterThan(before.at(-1)!);
      // No gap and no repetition.
      expect(before).toEqual(before.map((_, i) => before[0]! + i));
    });

    test("a server that is restarted is found again by itself", async () => {
      await using desk = await stage.openDesk({ files: { "a.txt": "base\n" } });
      const { page } = desk;
      await openFile(page, "a.txt");
      await seen(terminal(page));
      await stage.berth.kill();
      await seen(page.getByText("Reconnecting…"));
      await stage.berth.start();
      await gone(page.getByText("Reconnecting…"));
      await typeAtStart(page, "after ");
      await eventually(() => desk.read("a.txt")).toBe("after base\n");
    });

    test("parts of the page that could not be loaded come when the server answers again", async () => {
      await using desk = await stage.openDesk({ files: { "README.md": "# Hello\n" }, closed: true });
      const { page } = desk;
      const cut = /assets\/(text-editor|terminal-view)-/;
      await page.route(cut, (route) => route.abort());
      const missed = Promise.all(["text-editor", "terminal-view"].map((part) => page.waitForRequest((sent) => sent.url().includes(part))));
      await page.goto(await desk.link());
      await missed;
      await page.unroute(cut);
      await seen(editor(page));
      await seen(terminal(page));
    });

    test("a paused session says so and goes on by itself when it is resumed", async () => {
      await using desk = await stage.openDesk({ files: { "a.txt": "base\n" } });
      const { page, session } = desk;
      await openFile(page, "a.txt");
      await stage.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/pause`);
      await seen(page.getByRole("heading", { name: "This session is paused" }));

      await stage.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/resume`);
      await gone(page.getByRole("heading", { name: "This session is paused" }));
      await typeAtStart(page, "resumed ");
      await eventually(() => desk.read("a.txt")).toBe("resumed base\n");
      await typeInTerminal(page, "echo go-$((40+2))\n");
      await eventually(() => screenText(page)).toContain("go-42");
    });

    test("a terminal that a pause prevented is there after the resume", async () => {
      await using desk = await stage.openDesk({ closed: true });
      const { page, session } = desk;
      const refused = page.waitForResponse((response) => response.request().method() === "POST" && response.status() === 409);
      const answer = { status: 409, json: { error: "Session is paused" } };
      await page.route("**/api/terminals", (route) => route.fulfill(answer), { times: 1 });
      await page.goto(await desk.link());
      await refused;
      await stage.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/pause`);
      await stage.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/resume`);
      await typeInTerminal(page, "echo go-$((40+2))\n");
      await eventually(() => screenText(page)).toContain("go-42");
    });

    test("a workspace opened while its session is paused comes alive when it is resumed", async () => {
      await using desk = await stage.openDesk({ files: { "a.txt": "base\n" }, closed: true });
      const { page, session } = desk;
      await stage.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/pause`);
      await page.goto(await desk.link());
      await seen(page.getByRole("heading", { name: "This session is paused" }));
      await stage.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/resume`);
      await openFile(page, "a.txt");
    });

    test("a session whose time is nearly up says so in time", async () => {
      await using desk = await stage.openDesk({ create: { timeoutMs: 60_000 } });
      const { page } = desk;
      await eventually(() => page.getByRole("timer").textContent()).toMatch(/^\d+ s left$/);
      await seen(page.getByText("This session will be paused in a few minutes"));
    });

    test("a destroyed session says farewell", async () => {
      await using desk = await stage.openDesk({ files: { "a.txt": "base\n" } });
      await openFile(desk.page, "a.txt");
      await stage.berth.api.call("DELETE", `/api/b2b/sessions/${desk.session.sessionId}`);
      await seen(desk.page.getByRole("heading", { name: "This session has ended" }));
    });

    test("text that was not saved when the session ended can still be kept", async () => {
      await using desk = await stage.openDesk({ files: { "a.txt": "base\n" } });
      const { page } = desk;
      await page.getByRole("button", { name: "Autosave: on" }).click();
      await openFile(page, "a.txt");
      await typeAtStart(page, "unsaved ");
      await stage.berth.api.call("DELETE", `/api/b2b/sessions/${desk.session.sessionId}`);
      const downloading = page.waitForEvent("download");
      await page.getByRole("button", { name: "Save a copy of a.txt" }).click();
      expect((await downloading).suggestedFilename()).toBe("a.txt");
    });

    test("a forged link opens nothing and says so to a person", async () => {
      await using desk = await stage.openDesk({ closed: true });
      const forged = new URL(await desk.link());
      forged.searchParams.set("sig", "A".repeat(43));
      const answer = await desk.page.goto(forged.href);
      expect(answer?.status()).toBeGreaterThanOrEqual(400);
      await seen(desk.page.getByRole("heading"));
      expect(await desk.page.locator("body").innerText()).not.toContain("{");
      expect(await desk.page.getByRole("treeitem").count()).toBe(0);
    });

    test("without its cookie the page says that one is signed out", async () => {
      await using desk = await stage.openDesk({ files: { "a.txt": "base\n" } });
      await openFile(desk.page, "a.txt");
      await desk.page.context().clearCookies();
      cable.pull();
      cable.plug();
      await seen(desk.page.getByRole("heading", { name: "You are signed out of this workspace" }));
    });
  },
  { settings: behindCable },
);
