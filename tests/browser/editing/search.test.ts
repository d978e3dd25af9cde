import { expect, test } from "vitest";
import { seriousFaults } from "../../support/browser/axe.ts";
import { editor, eventually, expectVisible, hasFocus, openFile, treeItem } from "../../support/browser/workspace.ts";
import { describeOnSharedServer } from "../../support/browser/browser-suite.ts";

describeOnSharedServer("search and replace in files", (suite) => {
  test("a search result opens its line", async () => {
    const { page } = await suite.sharedWorkspace({ "src/a.rs": "one\ntwo\nthimble here\n", "b.txt": "hay\n" });
    await expectVisible(treeItem(page, "b.txt"));
    await page.keyboard.press("Control+Shift+F");
    await page.getByRole("textbox", { name: "Search in files" }).fill("thimble");
    await expectVisible(page.getByText("1 match in 1 file"));
    await page.getByRole("button", { name: /thimble here/ }).click();
    await expectVisible(page.getByLabel("Text of src/a.rs"));
    await expectVisible(page.getByText("Ln 3, Col 8 (7 selected)"));
    await page.getByRole("navigation", { name: "Views" }).getByRole("button", { name: "Files" }).click();
  });

  test("the search keeps its query, takes the selected text, and shows the matches of every file", async () => {
    const files = { "a.log": "needle\n".repeat(150), "src/b.rs": "let needle = 1;\n" };
    const { page } = await suite.sharedWorkspace(files);
    const query = page.getByRole("textbox", { name: "Search in files" });
    await openFile(page, "a.log");
    await editor(page).getByText("needle").first().dblclick();
    await expectVisible(page.getByText("(6 selected)"));
    await page.keyboard.press("Control+Shift+F");
    await eventually(() => query.inputValue()).toBe("needle");
    await eventually(() => hasFocus(query)).toBe(true);
    await expectVisible(page.getByText("101 matches in 2 files"));
    expect(await page.locator(".result-file .name").allInnerTexts()).toEqual(["b.rs", "a.log"]);
    await page.getByRole("button", { name: "More in this file" }).click();
    await eventually(() => page.locator(".result-line").count()).toBe(151);

    const views = page.getByRole("navigation", { name: "Views" });
    await views.getByRole("button", { name: "Files" }).click();
    await views.getByRole("button", { name: "Search" }).click();
    expect(await query.inputValue()).toBe("needle");
    await query.fill("(");
    await page.getByRole("button", { name: "Regular expression" }).click();
    await expectVisible(page.getByText("This is not a valid regular expression: Unterminated group"));
    await page.getByRole("button", { name: "Regular expression" }).click();
  });

  test("replacing in files shows each change first, leaves out what the person excludes, and can be undone", async () => {
    const files = { "a.txt": "cat one\ncat two\n", "b.txt": "a cat\n", "docs/c.md": "cat\n", "d.txt": "cat\n" };
    const workspace = await suite.emptiedWorkspace(files);
    const { page } = workspace;
    const notices = page.getByRole("region", { name: "Notices" });
    await openFile(page, "b.txt");
    await page.keyboard.press("Control+Shift+H");
    await page.getByRole("textbox", { name: "Search in files" }).fill("(c)at");
    await page.getByRole("textbox", { name: "Files to exclude" }).fill("docs/**");
    await page.locator(".search-form").getByRole("button", { name: "Regular expression" }).click();
    await expectVisible(page.getByText("4 matches in 3 files"));
    await page.getByRole("textbox", { name: "Replace with" }).fill("$1ow");
    await eventually(() => page.locator(".result-line ins").allInnerTexts()).toEqual(["cow", "cow", "cow", "cow"]);
    await page.getByRole("button", { name: /two/ }).hover();
    await page.getByRole("button", { name: "Leave out line 2" }).click();
    await page.getByRole("button", { name: "d.txt" }).hover();
    await page.getByRole("button", { name: "Leave out d.txt" }).click();
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "Replace all", exact: true }).click();
    await expectVisible(page.getByRole("heading", { name: "Replace 2 matches in 2 files?" }));
    await page.getByRole("dialog").getByRole("button", { name: "Replace" }).click();
    await expectVisible(notices.getByText("Replaced 2 matches in 2 files."));
    await eventually(() => workspace.read("b.txt")).toBe("a cow\n");
    expect(await workspace.read("a.txt")).toBe("cow one\ncat two\n");
    expect([await workspace.read("docs/c.md"), await workspace.read("d.txt")]).toEqual(["cat\n", "cat\n"]);
    await eventually(() => editor(page).innerText()).toContain("a cow");

    await workspace.write("a.txt", "changed since\n");
    await page.getByRole("button", { name: "Undo replace" }).click();
    await expectVisible(notices.getByText("a.txt was changed since and stayed as it is."));
    await eventually(() => workspace.read("b.txt")).toBe("a cat\n");
    expect(await workspace.read("a.txt")).toBe("changed since\n");
    await eventually(() => editor(page).innerText()).toContain("a cat");
  });
});
