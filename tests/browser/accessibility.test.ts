import { expect, test } from "vitest";
import { contrastFaults, seriousFaults } from "../support/browser/axe.ts";
import {
  editor,
  eventually,
  expectGone,
  hasFocus,
  openFile,
  screenText,
  expectVisible,
  showFiles,
  treeItem,
} from "../support/browser/workspace.ts";
import { describeOnSharedServer } from "../support/browser/browser-suite.ts";

const files = { "README.md": "# Read me\n\nSome text.\n", "src/main.rs": "pub const ANSWER: u8 = 42;\n" };

describeOnSharedServer("accessibility of the workspace", (suite) => {
  test("axe finds no serious violations in the panels, in light and dark", async () => {
    const { page } = await suite.sharedWorkspace(files);
    await openFile(page, "README.md");
    await eventually(() => screenText(page)).toContain("$");
    await page.getByRole("button", { name: "Agent", exact: true }).click();
    await expectVisible(page.getByRole("region", { name: "Agent" }));
    const found: Record<string, string[]> = {};
    for (const [index, view] of ["Search", "Changes", "Problems", "Ports", "Files"].entries()) {
      // The rest of the page stays the same.
      const part = index === 0 ? "html" : ".side-panel";
      await page.getByRole("navigation", { name: "Views" }).getByRole("button", { name: view }).click();
      for (const colorScheme of ["dark", "light"] as const) {
        await page.emulateMedia({ colorScheme });
        await eventually(() => page.evaluate<string>("getComputedStyle(document.documentElement).colorScheme")).toContain(colorScheme);
        found[`${view}, ${colorScheme}`] = await (colorScheme === "light" ? seriousFaults : contrastFaults)(page, part);
      }
    }
    expect(Object.entries(found).filter(([, faults]) => faults.length > 0)).toEqual([]);
    expect(Object.keys(found)).toHaveLength(10);
    expect(await page.evaluate(movableFrames)).toEqual([]);
    await page.getByRole("button", { name: "Agent", exact: true }).click();
  });

  test("the arrow keys move through the file tree", async () => {
    const { page } = await suite.sharedWorkspace(files);
    await treeItem(page, "src").focus();
    await page.keyboard.press("ArrowRight");
    await expectVisible(treeItem(page, "main.rs"));
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expectVisible(page.getByLabel("Text of src/main.rs"));
  });

  test("a file can be found, opened, edited and saved with the keyboard alone", async () => {
    const workspace = await suite.sharedWorkspace(files);
    const { page } = workspace;
    await expectVisible(treeItem(page, "README.md"));
    await page.keyboard.press("Control+P");
    // Type and press Enter at once: Enter must not choose from the results of an earlier query.
    await page.keyboard.type("main");
    await page.keyboard.press("Enter");
    await expectVisible(page.getByLabel("Text of src/main.rs"));
    await eventually(() => page.evaluate<boolean>("document.activeElement.classList.contains('cm-content')")).toBe(true);
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("// first\n");
    await page.keyboard.press("Control+S");
    await eventually(() => workspace.read("src/main.rs")).toBe("// first\npub const ANSWER: u8 = 42;\n");
  });

  test("the palette keeps the focus while it is open, and returns it when it closes", async () => {
    const { page } = await suite.sharedWorkspace(files);
    await openFile(page, "README.md");
    const palette = page.getByRole("dialog", { name: "Go to file" });
    const field = palette.getByRole("combobox");
    const closings = [() => page.keyboard.press("Escape"), () => page.keyboard.press("Tab"), () => page.mouse.click(20, 500)];
    for (const close of closings) {
      await editor(page).click();
      await page.keyboard.press("Control+P");
      await expectVisible(field);
      await page.locator(".xterm-helper-textarea").first().focus();
      expect(await hasFocus(field)).toBe(true);
      await close();
      await expectGone(palette);
      expect(await hasFocus(editor(page))).toBe(true);
    }
  });

  test("the workspace works at the width of a phone", async () => {
    const { page } = await suite.sharedWorkspace(files);
    const size = page.viewportSize()!;
    await page.setViewportSize({ width: 390, height: 780 });
    await page.reload();
    await page.getByRole("button", { name: "Side panel" }).click();
    await openFile(page, "README.md");
    await expectVisible(editor(page));
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate<boolean>("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    await page.setViewportSize(size);
    await showFiles(page);
  });

  test("below 1,200 pixels the side panel covers the editor until the editor is used, and fingers have large targets", async () => {
    const context = { viewport: { width: 1000, height: 700 }, hasTouch: true, isMobile: true };
    const workspace = await suite.sharedWorkspace(files);
    await using page = await workspace.another({}, context);
    const panel = page.getByRole("complementary", { name: "files" });
    await editor(page).waitFor();
    expect(await panel.count()).toBe(0);
    await page.getByRole("button", { name: "Files", exact: true }).tap();
    await expectVisible(treeItem(page, "README.md"));
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate(smallTargets)).toEqual([]);
    await editor(page).tap();
    await expectGone(panel);
    await page.getByRole("button", { name: "Files", exact: true }).tap();
    await treeItem(page, "README.md").tap();
    await expectGone(panel);
  });

  test("axe finds no serious violations in dialogs, menus and the paused page", async () => {
    const workspace = await suite.sharedWorkspace(files);
    const { page } = workspace;
    await expectVisible(editor(page));
    await page.keyboard.press("F1");
    await expectVisible(page.getByRole("combobox"));
    const found: Record<string, string[]> = { palette: await seriousFaults(page, ".scrim") };
    await page.keyboard.press("Escape");
    await treeItem(page, "README.md").click({ button: "right" });
    await expectVisible(page.getByRole("menuitem", { name: "Rename" }));
    found.menu = await seriousFaults(page, "[role=menu]");
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await expectVisible(page.getByRole("textbox", { name: "New name" }));
    found.naming = await seriousFaults(page, ".side-panel");
    await page.keyboard.press("Escape");
    await workspace.exec("truncate -s 65M too-large");
    await treeItem(page, "too-large").click();
    await page.keyboard.press("Delete");
    await expectVisible(page.getByRole("heading", { name: "Delete too-large permanently?" }));
    found.question = await seriousFaults(page, "dialog");
    await page.keyboard.press("Escape");
    await suite.berth.api.call("POST", `/api/b2b/sessions/${workspace.session.sessionId}/pause`);
    await expectVisible(page.getByRole("heading", { name: "This session is paused" }));
    found.paused = await seriousFaults(page);
    expect(found).toEqual({ palette: [], menu: [], naming: [], question: [], paused: [] });
  });
});

// Runs in the page: the parts of the frame that a browser could scroll out of place, to show the focus.
const movableFrames = `[...document.querySelectorAll(".split, .split-panel")]
  .filter((part) => { part.scrollTop = 10; return part.scrollTop > 0; })
  .map((part) => part.className)`;

// Runs in the page: the controls that are too small for a finger.
const smallTargets = `[...document.querySelectorAll("button, a, [role=treeitem]")]
  .filter((control) => control.checkVisibility() && !control.closest(".cm-editor, .xterm"))
  .map((control) => ({ name: control.ariaLabel ?? control.textContent, height: control.getBoundingClientRect().height }))
  .filter(({ height }) => height < 39.5)`;
