import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  editor,
  eventually,
  expectGone,
  openFile,
  screenText,
  expectVisible,
  typeAtStart,
  typeInTerminal,
} from "../support/browser/workspace.ts";
import { describeInBrowser } from "../support/browser/browser-suite.ts";

// People may extend sessions to two hours.
async function templatesFile(resources: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "berth-templates-"));
  resources.defer(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "templates.yaml"), "default: { maxTimeoutMs: 7200000 }\n");
  return join(folder, "templates.yaml");
}

describeInBrowser(
  "a workspace whose session was hibernated",
  (suite) => {
    test("after a resume, files, unsaved text and terminal scrollback are there, and terminals work", async () => {
      await using workspace = await suite.openWorkspace({ files: { "a.txt": "base\n" } });
      const { page, session } = workspace;
      await page.getByRole("button", { name: "Autosave: on" }).click();
      await openFile(page, "a.txt");
      await typeAtStart(page, "unsaved ");
      await typeInTerminal(page, "echo before-hibernation\n");
      await eventually(() => screenText(page)).toContain("before-hibernation");

      await suite.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/pause`);
      await expectVisible(page.getByRole("heading", { name: "This session is paused" }));
      await suite.berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/resume`);
      await expectGone(page.getByRole("heading", { name: "This session is paused" }));

      await eventually(() => editor(page).innerText()).toContain("unsaved base");
      await page.keyboard.press("Control+S");
      await eventually(() => workspace.read("a.txt")).toBe("unsaved base\n");
      await eventually(() => screenText(page)).toContain("before-hibernation");
      await page.getByRole("button", { name: "New terminal" }).click();
      await eventually(() => page.evaluate<boolean>("document.activeElement.closest('.terminal-view') !== null")).toBe(true);
      await eventually(() => page.locator(".terminal-view:visible .xterm-rows").innerText()).toContain("$");
      await page.keyboard.type("echo after-$((40+2))\n");
      await eventually(() => page.locator(".terminal-view:visible .xterm-rows").innerText()).toContain("after-42");
    });

    test("with autoResume, its launch URL and the Resume button wake it, but not the open page, and Keep working extends it", async () => {
      const create = { autoResume: true, timeoutMs: 240_000 };
      await using workspace = await suite.openWorkspace({ files: { "a.txt": "base\n" }, create, closed: true });
      const { page, session } = workspace;
      const path = `/api/b2b/sessions/${session.sessionId}`;
      const read = async () => (await suite.berth.api.call("GET", `${path}?expand=details`)).body as { status: string; expiresAt: string };
      const paused = page.getByRole("heading", { name: "This session is paused" });
      await suite.berth.api.call("POST", `${path}/pause`);
      await page.goto(await workspace.link());
      await openFile(page, "a.txt");
      await eventually(() => screenText(page)).toContain("$");

      await suite.berth.api.call("POST", `${path}/pause`);
      await expectVisible(paused);
      // The page reconnects when it is online or visible again, which leaves the session paused.
      const reconnecting = page.waitForEvent("websocket");
      await page.evaluate("dispatchEvent(new Event('online')); document.dispatchEvent(new Event('visibilitychange'))");
      await reconnecting;
      expect((await read()).status).toBe("paused");
      await page.getByRole("button", { name: "Resume" }).click();
      await expectGone(paused);
      await typeAtStart(page, "resumed ");
      await eventually(() => workspace.read("a.txt")).toBe("resumed base\n");

      const { expiresAt } = await read();
      await page.getByRole("button", { name: "Keep working" }).click();
      await eventually(async () => Date.parse((await read()).expiresAt)).toBe(Date.parse(expiresAt) + 240_000);

      // A reload of the page opens it too.
      await suite.berth.api.call("POST", `${path}/pause`);
      await expectVisible(paused);
      await page.reload();
      await eventually(async () => (await read()).status).toBe("running");
      await expectGone(paused);
      await expectVisible(editor(page));
    });
  },
  { settings: async (resources) => ({ BERTH_HIBERNATE_AFTER: "0", BERTH_TEMPLATES: await templatesFile(resources) }) },
);
