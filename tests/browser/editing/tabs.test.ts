import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { seriousFaults } from "../../support/browser/axe.ts";
import { editor, eventually, expectGone, expectVisible, hasFocus, openFile, tab, treeItem } from "../../support/browser/workspace.ts";
import { describeOnSharedServer } from "../../support/browser/browser-suite.ts";

describeOnSharedServer("tabs and editor groups", (suite) => {
  test("a file in two groups is one text with one history, and the groups are there after a reload", async () => {
    const workspace = await suite.emptiedWorkspace({ "a.txt": "one\n", "b.txt": "b\n" });
    const { page } = workspace;
    const group = (number: number) => page.getByRole("region", { name: `Editor group ${number}` });
    const position = page.getByText(/^Ln \d+, Col \d+$/);
    await openFile(page, "a.txt");
    await page.keyboard.press("Control+End");
    await page.keyboard.press("Control+\\");
    await eventually(() => hasFocus(editor(page).nth(1))).toBe(true);
    await page.keyboard.type("two");
    await eventually(() => editor(page).first().innerText()).toContain("two");
    await eventually(() => workspace.read("a.txt")).toBe("one\ntwo");

    // Each group has its own position, and what was typed in one can be undone in the other.
    await page.keyboard.press("Control+1");
    await eventually(() => hasFocus(editor(page).first())).toBe(true);
    await page.keyboard.press("Control+Home");
    await eventually(() => position.textContent()).toBe("Ln 1, Col 1");
    await page.keyboard.press("Control+2");
    await eventually(() => position.textContent()).toBe("Ln 2, Col 4");
    await page.keyboard.press("Control+1");
    await eventually(() => hasFocus(editor(page).first())).toBe(true);
    await page.keyboard.press("Control+Z");
    await eventually(() => editor(page).nth(1).innerText()).not.toContain("two");
    await page.keyboard.press("Control+Shift+Z");
    await page.keyboard.press("Control+2");
    await eventually(() => hasFocus(editor(page).nth(1))).toBe(true);
    await page.keyboard.press("Control+Z");
    await eventually(() => editor(page).first().innerText()).not.toContain("two");
    await eventually(() => workspace.read("a.txt")).toBe("one\n");

    // The separator follows the pointer, and the sizes are there after a reload.
    const separator = page.getByRole("separator", { name: "Resize main" });
    const place = async () => (await separator.boundingBox())!;
    const before = await place();
    await page.mouse.move(before.x, 300);
    await page.mouse.down();
    await page.mouse.move(before.x + 60, 320, { steps: 3 });
    await page.mouse.up();
    await eventually(async () => (await place()).x).toBe(before.x + 60);
    expect(await page.evaluate("getSelection().toString()")).toBe("");

    // A file opens in the group that was used last.
    await openFile(page, "b.txt");
    await expectVisible(group(2).getByRole("tab", { name: "b.txt" }));
    expect(await seriousFaults(page)).toEqual([]);
    await page.reload();
    await expectVisible(group(1).getByLabel("Text of a.txt"));
    await expectVisible(group(2).getByLabel("Text of b.txt"));
    expect((await place()).x).toBe(before.x + 60);

    // The group closes with its last tab.
    await group(1).getByRole("tab", { name: "a.txt" }).press("Delete");
    await expectGone(group(1));
    await expectVisible(tab(page, "b.txt"));
  });

  test("tabs are dragged, listed, closed together and opened again", async () => {
    const names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"].map((name) => `${name}-a-long-name.txt`);
    const { page, write } = await suite.emptiedWorkspace(Object.fromEntries(names.map((name) => [name, "text\n"])));
    const list = (number: number | null) =>
      page
        .getByRole("tablist", { name: number === null ? "Open files" : `Open files, group ${number}` })
        .getByRole("tab")
        .allTextContents();
    const [a, b, c, d] = names as [string, string, string, string];
    for (const name of [a, b, c]) await openFile(page, name);
    await tab(page, c).dragTo(tab(page, a), { targetPosition: { x: 2, y: 10 } });
    await eventually(() => list(null)).toEqual([c, a, b]);

    // At the right edge, a tab gets a group of its own.
    const content = page.getByRole("tabpanel");
    const { width, height } = (await content.boundingBox())!;
    await tab(page, a).dragTo(content, { targetPosition: { x: width - 20, y: height / 2 } });
    await eventually(() => list(2)).toEqual([a]);
    expect(await list(1)).toEqual([c, b]);
    await page.getByRole("tab", { name: b }).dragTo(page.getByRole("tab", { name: a }), { targetPosition: { x: 2, y: 10 } });
    await eventually(() => list(2)).toEqual([b, a]);

    // A file of the tree opens where it is dropped.
    await treeItem(page, d).dragTo(page.getByRole("tabpanel").last());
    await eventually(() => list(2)).toEqual([b, d, a]);
    await page.getByRole("tab", { name: d }).press("Delete");

    // A middle click closes, and does not paste the text that was selected last; the shortcut opens again, in the same group.
    await page.getByLabel(`Text of ${a}`).click();
    await page.keyboard.press("Control+A");
    await page.keyboard.press("ArrowRight");
    await page.getByRole("tab", { name: b }).click({ button: "middle" });
    await eventually(() => list(2)).toEqual([a]);
    expect((await page.getByLabel(`Text of ${a}`).innerText()).split("text")).toHaveLength(2);
    await page.keyboard.press("Alt+Shift+T");
    await eventually(() => list(2)).toEqual([a, b]);
    await page.getByRole("tab", { name: b }).click({ button: "right" });
    await expectVisible(page.getByRole("menu"));
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole("menuitem", { name: "Move to the left group" }).click();
    await eventually(() => list(1)).toEqual([c, b]);

    // If two tabs have the same name, the path is shortened and not the name.
    const folder = "a-folder-with-a-long-name/and-another-one-in-it";
    for (const path of [`${folder}/first/index.txt`, `${folder}/second/index.txt`]) await write(path, "text\n");
    for (const part of ["first", "second"]) {
      await page.keyboard.press("Control+P");
      await page.getByRole("combobox").fill(`${part}/index.txt`);
      await page.keyboard.press("Enter");
      await expectVisible(page.getByLabel(`Text of ${folder}/${part}/index.txt`));
    }
    const shownNames = page.getByRole("tab", { name: "index.txt" }).locator(".name");
    expect(await shownNames.evaluateAll((names) => names.map((name) => name.scrollWidth <= name.clientWidth))).toEqual([true, true]);
    for (const part of ["second", "index.txt"]) await page.getByRole("tab", { name: part }).press("Delete");

    // Tabs that do not fit are in a list.
    await page.getByRole("tab", { name: c }).click();
    for (const name of names.slice(3)) await openFile(page, name);
    const last = page.getByRole("tab", { name: names.at(-1)! });
    await expectInView(last);
    await page.keyboard.press("Control+B");
    await page.keyboard.press("Control+B");
    await expectInView(last);
    await page.getByRole("button", { name: "All open tabs" }).click();
    await page.getByRole("menuitem", { name: c }).click();
    await eventually(() => page.getByRole("tab", { name: c }).getAttribute("aria-selected")).toBe("true");
    await page.getByRole("tab", { name: c }).press("Shift+F10");
    await page.getByRole("menuitem", { name: "Close others" }).click();
    await eventually(() => list(1)).toEqual([c]);
    expect(await list(2)).toEqual([a]);
  });

  test("with no file open, a person uploads, clones a repository and opens recent files", async () => {
    const workspace = await suite.emptiedWorkspace({});
    const { page } = workspace;
    const commit = "git -c user.name=a -c user.email=a@example.com commit -qm first";
    const path = await workspace.exec(`set -e; cd "$(mktemp -d)"; git init -q; echo hello > cloned.txt; git add .; ${commit}; pwd`);
    await page.getByRole("button", { name: "Clone repository" }).click();
    await page.getByRole("textbox", { name: "URL of the repository" }).fill(path.trim());
    expect(await seriousFaults(page)).toEqual([]);
    await page.keyboard.press("Enter");
    // In an empty workspace the repository becomes the workspace.
    await expectVisible(treeItem(page, "cloned.txt"));
    const choosing = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Upload files" }).click();
    await (await choosing).setFiles({ name: "mine.txt", mimeType: "text/plain", buffer: Buffer.from("mine") });
    await expectVisible(treeItem(page, "mine.txt"));
    await openFile(page, "mine.txt");
    await tab(page, "mine.txt").press("Delete");
    await page.getByRole("region", { name: "Recent files" }).getByRole("button", { name: "mine.txt" }).click();
    await expectVisible(page.getByLabel("Text of mine.txt"));
  });
});

// A tab is not scrolled out of its row.
const expectInView = (what: Locator) =>
  eventually(async () => {
    const [name, row] = [await what.boundingBox(), await what.page().locator(".tab-list").filter({ has: what }).boundingBox()];
    return name!.x + name!.width <= row!.x + row!.width;
  }).toBe(true);
