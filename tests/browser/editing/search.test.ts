import { expect, test } from "vitest";
import { seriousFaults } from "../../support/browser/axe.ts";
import {
  editor,
  eventually,
  expectGone,
  expectVisible,
  hasFocus,
  newWorkspacePage,
  openFile,
  treeItem,
} from "../../support/browser/workspace.ts";
import { describeOnSharedServer } from "../../support/browser/browser-suite.ts";

describeOnSharedServer("finding in the workspace: in files, in a file, and files by name", (suite) => {
  test("find shows a count, names a bad expression, and replaces in one undo step, also in a selection", async () => {
    const text = "one cat\ntwo Cats\nthree cat";
    const { page } = await suite.sharedWorkspace({ "cats.txt": text });
    await openFile(page, "cats.txt");
    const widget = page.getByRole("search", { name: "Find and replace" });
    const query = widget.getByRole("textbox", { name: "Find", exact: true });
    const shown = () => editor(page).innerText();

    await editor(page)
      .getByText("one cat")
      .dblclick({ position: { x: 40, y: 8 } });
    await page.keyboard.press("Control+F");
    await eventually(() => query.inputValue()).toBe("cat");
    await expectVisible(widget.getByText("1 of 3"));
    await page.keyboard.press("Enter");
    await expectVisible(widget.getByText("2 of 3"));
    await page.keyboard.press("Alt+C");
    await page.keyboard.press("F3");
    await expectVisible(widget.getByText("1 of 2"));
    await page.keyboard.press("Alt+C");
    await page.keyboard.press("Alt+W");
    await expectVisible(widget.getByText("1 of 2"));
    await page.keyboard.press("Alt+W");
    await page.keyboard.press("Alt+R");
    await query.fill("(cat");
    await expectVisible(widget.getByText("A ( has no matching )"));
    await query.fill("(c)at");
    await page.keyboard.press("Control+H");
    await widget.getByRole("textbox", { name: "Replace" }).fill("$1ow");
    expect(await seriousFaults(page, ".text-editor")).toEqual([]);
    await widget.getByRole("button", { name: "Replace all" }).click();
    await eventually(shown).toBe("one cow\ntwo Cows\nthree cow");
    await expectVisible(widget.getByText("No results"));
    await page.keyboard.press("Escape");
    await expectGone(widget);
    await eventually(() => hasFocus(editor(page))).toBe(true);
    await page.keyboard.press("Control+Z");
    await eventually(shown).toBe(text);

    await page.keyboard.press("Control+Home");
    await page.keyboard.press("Shift+ArrowDown");
    await page.keyboard.press("Control+H");
    await widget.getByRole("button", { name: "Find in selection" }).click();
    await expectVisible(widget.getByText("1 result"));
    await widget.getByRole("button", { name: "Replace all" }).click();
    await eventually(shown).toBe("one cow\ntwo Cats\nthree cat");
  });

  test("Go to file knows lines, symbols and recent files", async () => {
    const files = { "src/cat.rs": `${"\n".repeat(20)}pub fn purr() {}\n`, "recent.txt": "one\ntwo\n", "older.txt": "", "unseen.rs": "" };
    const workspace = await suite.sharedWorkspace(files);
    const { page } = workspace;
    await openFile(page, "older.txt");
    await openFile(page, "recent.txt");
    const field = page.getByRole("combobox");
    const options = page.getByRole("option");
    await page.keyboard.press("Control+G");
    await field.fill(":2:3");
    await expectVisible(page.getByRole("option", { name: "Go to line 2, column 3" }));
    await page.keyboard.press("Enter");
    await expectVisible(page.getByText("Ln 2, Col 3"));
    await eventually(() => hasFocus(editor(page))).toBe(true);
    await page.keyboard.press("Control+P");
    await eventually(async () => (await options.first().innerText()).trim()).toBe("older.txt");
    await field.fill("cat.rs:7");
    await expectVisible(page.getByRole("option", { name: "cat.rs" }));
    await page.keyboard.press("Enter");
    await expectVisible(page.getByLabel("Text of src/cat.rs"));
    await expectVisible(page.getByText("Ln 7, Col 1"));
    await page.keyboard.press("Control+Shift+O");
    await expectVisible(page.getByRole("option", { name: /purr/ }));
    await page.keyboard.press("Enter");
    await expectVisible(page.getByText("Ln 21, Col 8"));
    await page.keyboard.press("Control+P");
    await field.fill(">fold all");
    await expectVisible(page.getByRole("option", { name: "Fold all", exact: true }));
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "hidden" });

    // A search that takes long or fails hides no recent file, and Enter waits for the file that is meant.
    const answering = Promise.withResolvers<void>();
    let failures = 1;
    await page.route("**/api/files/find?*", async (route) => {
      await answering.promise;
      await (failures-- > 0 ? route.abort() : route.continue());
    });
    await page.keyboard.press("Control+P");
    await field.fill("older");
    await expectVisible(page.getByRole("option", { name: "older.txt", exact: true }));
    await page.keyboard.press("Enter");
    await expectVisible(page.getByLabel("Text of older.txt"));
    await page.keyboard.press("Control+P");
    await field.fill("unseen");
    await expectVisible(page.getByText("Looking for files…"));
    await page.keyboard.press("Enter");
    answering.resolve();
    await expectVisible(page.getByLabel("Text of unseen.rs"));
    await page.unroute("**/api/files/find?*");
  });

  test("shortcuts that are pressed as soon as the page is there wait for their commands, and for the palette", async () => {
    // A file of the test before: its list of files is kept for up to three seconds and would not have a new one.
    const workspace = await suite.sharedWorkspace({ "older.txt": "" });
    const page = await newWorkspacePage(suite.browser);
    const loading = Promise.withResolvers<void>();
    await page.route("**/assets/commands-*.js", async (route) => {
      await loading.promise;
      await route.continue();
    });
    await page.goto(await workspace.link(), { waitUntil: "commit" });
    await expectVisible(page.getByRole("complementary", { name: "files" }));
    for (const shortcut of ["Control+B", "Control+J", "Control+P"]) await page.keyboard.press(shortcut);
    await page.keyboard.type("older");
    await page.keyboard.press("Enter");
    await expectVisible(page.getByRole("dialog", { name: "Loading" }));
    loading.resolve();
    await expectVisible(page.getByLabel("Text of older.txt"));
    await expectGone(page.getByRole("complementary", { name: "files" }));
    await expectGone(page.getByRole("region", { name: "Terminals" }));
    await page.context().close();
  });

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
