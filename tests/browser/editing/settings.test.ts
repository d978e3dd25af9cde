import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { seriousFaults } from "../../support/browser/axe.ts";
import { editor, eventually, expectGone, expectVisible, openFile, tab } from "../../support/browser/workspace.ts";
import { describeOnSharedServer } from "../../support/browser/browser-suite.ts";

describeOnSharedServer("the settings of a user", (suite) => {
  test("settings apply at once, follow the user to another browser, and can be edited as JSON", async () => {
    const create = { externalUserId: "settings-user" };
    await using workspace = await suite.openWorkspace({ create, files: { "a.txt": "one two\nthree\n" } });
    const { page } = workspace;
    await openFile(page, "a.txt");
    const fontSize = (of: Page) => of.evaluate<string>(`getComputedStyle(document.querySelector(".text-editor .cm-editor")).fontSize`);
    await page.keyboard.press("Control+,");
    await page.getByRole("searchbox", { name: "Search settings" }).fill("editor font size");
    await page.getByRole("spinbutton", { name: "Font size" }).fill("99");
    await expectVisible(page.getByText("This must be a number from 8 to 40."));
    await page.getByRole("spinbutton", { name: "Font size" }).fill("20");
    await page.getByRole("searchbox", { name: "Search settings" }).fill("");
    expect(await seriousFaults(page)).toEqual([]);

    // This browser has no GPU, so terminals use it only on request. A browser may take it away again.
    const canvases = page.locator(".terminal-view canvas");
    await expectVisible(page.locator(".terminal-view .xterm-rows"));
    expect(await canvases.count()).toBe(0);
    await page.getByRole("combobox", { name: "GPU acceleration" }).selectOption("On");
    await expectVisible(canvases.first());
    await page.evaluate(`for (const canvas of document.querySelectorAll(".terminal-view canvas"))
      canvas.getContext("webgl2")?.getExtension("WEBGL_lose_context").loseContext()`);
    await expectGone(canvases);
    await expectVisible(page.locator(".terminal-view .xterm-rows"));
    await tab(page, "a.txt").click();
    await eventually(() => fontSize(page)).toBe("20px");

    await page.keyboard.press("F1");
    await page.getByRole("combobox").fill(">settings (json)");
    await page.keyboard.press("Enter");
    const json = page.getByLabel("Text of settings.json");
    await eventually(() => json.innerText()).toContain('"editor.fontSize": 20');
    await json.click();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText('{ "editor.keymap": "emacs", "editor.lineNumbers": "off", "editor.fontSize": 18 }');
    await expectVisible(page.getByText('editor.keymap must be one of "vscode", "vim".'));
    await page.keyboard.press("Control+A");
    const written = page.waitForResponse((response) => response.request().postData()?.includes('"editor.keymap":"vim"') ?? false);
    await page.keyboard.insertText('{ "editor.keymap": "vim", "editor.lineNumbers": "off", "editor.fontSize": 18 }');
    await expectGone(page.getByText("editor.keymap must be"));
    await tab(page, "a.txt").click();
    await expectVisible(page.locator(".cm-vim-panel"));
    await expectGone(page.locator(".cm-lineNumbers"));
    await editor(page).click();
    await page.keyboard.press("Escape");
    await page.keyboard.type("gg0dw:w\n");
    await eventually(() => workspace.read("a.txt")).toBe("two\nthree\n");

    await written;
    const other = await workspace.another();
    await openFile(other, "a.txt");
    await eventually(() => fontSize(other)).toBe("18px");
    await expectVisible(other.locator(".cm-vim-panel"));
    await other.keyboard.press("F1");
    await other.getByRole("combobox").fill(">keyboard short");
    await other.keyboard.press("Enter");
    await expectVisible(other.getByRole("row", { name: "Go to line… Ctrl+G" }));
  });
});
