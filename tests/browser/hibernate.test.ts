import { test } from "vitest";
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
  },
  { settings: async () => ({ BERTH_HIBERNATE_AFTER: "0" }) },
);
