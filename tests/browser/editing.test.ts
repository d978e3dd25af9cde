import { expect, test } from "vitest";
import { editor, eventually, expectGone, openFile, expectVisible, tab, treeItem, typeAtStart } from "../support/browser/workspace.ts";
import { describeInBrowser } from "../support/browser/browser-suite.ts";

// Runs in the page.
const countDrafts = `new Promise((resolve) => {
  const opening = indexedDB.open("berth-workspace");
  opening.onsuccess = () => {
    const counting = opening.result.transaction("drafts").objectStore("drafts").count();
    counting.onsuccess = () => resolve(counting.result);
  };
})`;

describeInBrowser("editing in the workspace", (suite) => {
  test("a file that is created, edited and saved can be read by a command", async () => {
    await using workspace = await suite.openWorkspace();
    const { page } = workspace;
    await page.getByRole("button", { name: "New file" }).first().click();
    await page.getByRole("textbox", { name: "Name" }).fill("notes/today.txt");
    await page.getByRole("button", { name: "Create" }).click();
    await typeAtStart(page, "buy bread");
    await page.keyboard.press("Control+S");
    await eventually(() => workspace.exec("cat notes/today.txt")).toBe("buy bread");
  });

  test("autosave writes what was typed, and the tab is marked until then", async () => {
    await using workspace = await suite.openWorkspace({ files: { "a.txt": "one\n" } });
    const { page } = workspace;
    await openFile(page, "a.txt");
    await editor(page).click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("two");
    await expectVisible(tab(page, "a.txt (unsaved)"));
    await eventually(() => workspace.read("a.txt")).toBe("one\ntwo");
    await expectGone(tab(page, "a.txt (unsaved)"));
  });

  test("the editor shows a change on disk if its text is not edited", async () => {
    await using workspace = await suite.openWorkspace({ files: { "a.txt": "before\n" } });
    await openFile(workspace.page, "a.txt");
    await workspace.exec("echo after > a.txt");
    await eventually(() => editor(workspace.page).innerText()).toContain("after");
  });

  test("a change on disk does not replace an edited text; the person compares and decides", async () => {
    await using workspace = await suite.openWorkspace({ files: { "a.txt": "base\n" } });
    const { page } = workspace;
    await page.getByRole("button", { name: "Autosave: on" }).click();
    await openFile(page, "a.txt");
    await typeAtStart(page, "mine ");
    await workspace.write("a.txt", "theirs\n");
    await expectVisible(page.getByText("was changed by someone else"));
    expect(await editor(page).innerText()).toContain("mine base");
    await page.getByRole("button", { name: "Compare" }).click();
    await expectVisible(page.locator(".cm-mergeView").getByText("theirs"));
    await page.getByRole("button", { name: "Keep mine" }).click();
    await eventually(() => workspace.read("a.txt")).toBe("mine base\n");
  });

  test("Take theirs shows the text on disk", async () => {
    await using workspace = await suite.openWorkspace({ files: { "a.txt": "base\n" } });
    const { page } = workspace;
    await page.getByRole("button", { name: "Autosave: on" }).click();
    await openFile(page, "a.txt");
    await typeAtStart(page, "mine ");
    await workspace.write("a.txt", "theirs\n");
    await page.getByRole("button", { name: "Take theirs" }).click();
    await eventually(() => editor(page).innerText()).toContain("theirs");
    expect(await workspace.read("a.txt")).toBe("theirs\n");
  });

  test("a file deleted on disk stays open and can be saved again", async () => {
    await using workspace = await suite.openWorkspace({ files: { "a.txt": "precious\n" } });
    const { page } = workspace;
    await openFile(page, "a.txt");
    await workspace.exec("rm a.txt");
    await expectVisible(page.getByText("was deleted on disk"));
    await page.getByRole("button", { name: "Save again" }).click();
    await eventually(() => workspace.read("a.txt")).toBe("precious\n");
  });

  test("a read-only file is not overwritten, and a file replaced by a folder is marked as deleted", async () => {
    await using workspace = await suite.openWorkspace({ files: { "kept.txt": "kept\n", "becomes-folder.txt": "text\n" } });
    const { page } = workspace;
    await workspace.exec("chmod 444 kept.txt");
    await openFile(page, "kept.txt");
    await typeAtStart(page, "mine ");
    await page.keyboard.press("Control+S");
    await expectVisible(page.getByText("Could not save kept.txt: The file permissions do not allow this"));
    expect(await workspace.read("kept.txt")).toBe("kept\n");
    await workspace.exec("chmod 644 kept.txt");
    await page.keyboard.press("Control+S");
    await eventually(() => workspace.read("kept.txt")).toBe("mine kept\n");

    await openFile(page, "becomes-folder.txt");
    await workspace.exec("rm becomes-folder.txt && mkdir becomes-folder.txt");
    await expectVisible(page.locator(".tab.gone").getByText("becomes-folder.txt"));
  });

  test("unsaved text is restored after a reload", async () => {
    await using workspace = await suite.openWorkspace({ files: { "a.txt": "base\n" } });
    const { page } = workspace;
    await page.getByRole("button", { name: "Autosave: on" }).click();
    await openFile(page, "a.txt");
    await typeAtStart(page, "unsaved ");
    await eventually(() => page.evaluate<number>(countDrafts)).toBe(1);
    await page.reload();
    await expectVisible(tab(page, "a.txt (unsaved)"));
    await eventually(() => editor(page).innerText()).toContain("unsaved base");
    expect(await workspace.read("a.txt")).toBe("base\n");
  });

  test("files can be renamed, dragged to a folder and deleted in the tree", async () => {
    await using workspace = await suite.openWorkspace({ files: { "a.txt": "a\n", "folder/b.txt": "b\n" } });
    const { page } = workspace;
    await treeItem(page, "a.txt").click({ button: "right" });
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("c.txt");
    await page.getByRole("button", { name: "Rename" }).click();
    await expectVisible(treeItem(page, "c.txt"));
    await treeItem(page, "c.txt").dragTo(treeItem(page, "folder"));
    await eventually(() => workspace.read("folder/c.txt")).toBe("a\n");
    await treeItem(page, "folder").click();
    await treeItem(page, "b.txt").focus();
    await page.keyboard.press("Delete");
    await page.getByRole("button", { name: "Delete" }).last().click();
    await eventually(() => workspace.exec("ls folder")).toBe("c.txt\n");
  });

  test("line endings and a byte order mark survive an edit", async () => {
    const original = "\uFEFFone\r\ntwo\r\n";
    await using workspace = await suite.openWorkspace({ files: { "dos.txt": original } });
    const { page } = workspace;
    await openFile(page, "dos.txt");
    await editor(page).click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("three");
    await page.keyboard.press("Control+S");
    await eventually(() => workspace.read("dos.txt")).toBe(`${original}three`);
  });

  test("two people see each other's changes", async () => {
    await using workspace = await suite.openWorkspace({ files: { "shared.txt": "start\n" } });
    const other = await workspace.another();
    await openFile(workspace.page, "shared.txt");
    await openFile(other, "shared.txt");
    await typeAtStart(workspace.page, "hello ");
    await eventually(() => editor(other).innerText()).toContain("hello start");
  });
});
