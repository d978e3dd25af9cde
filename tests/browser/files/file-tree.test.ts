import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeOnSharedServer } from "../../support/browser/browser-suite.ts";
import { editor, eventually, expectGone, expectVisible, hasFocus, openFile, tab, treeItem } from "../../support/browser/workspace.ts";

// Counts how often React renders a row of the tree. React reports every commit to this hook, which its developer tools use.
const countRowRenders = `
  window.rowRenders = 0;
  const visit = (fiber, previous) => {
    if (fiber.child === previous?.child) return;
    for (let child = fiber.child; child; child = child.sibling) {
      const props = child.memoizedProps;
      const performedWork = (child.flags & 1) !== 0;
      if (performedWork && props && props.node && "index" in props) window.rowRenders++;
      visit(child, child.alternate);
    }
  };
  window.__REACT_DEVTOOLS_GLOBAL_HOOK__ = {
    supportsFiber: true,
    inject: () => 1,
    checkDCE() {},
    onCommitFiberUnmount() {},
    onPostCommitFiberRoot() {},
    onCommitFiberRoot: (_id, { current }) => visit(current, current.alternate),
  };
`;

const rowRenders = async (page: Page, work: () => Promise<unknown>): Promise<number> => {
  await page.evaluate("window.rowRenders = 0");
  await work();
  await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
  return page.evaluate<number>("window.rowRenders");
};

const selectedNames = async (page: Page) => page.locator('[role="treeitem"][aria-selected="true"]').allInnerTexts();

describeOnSharedServer("the file tree", (suite) => {
  test("a click shows a file and keeps the focus in the tree; Enter and a double click move it to the editor", async () => {
    const files = { "a.txt": "text of a\n", "b.txt": "b\n", "c.txt": "c\n", "x/y/z/inner.txt": "i\n" };
    const workspace = await suite.emptiedWorkspace(files);
    const { page } = workspace;
    // Folders that contain nothing else share a row.
    await treeItem(page, "x").click();
    await expectVisible(treeItem(page, "inner.txt"));
    expect(await hasFocus(treeItem(page, "x/y/z"))).toBe(true);
    await page.keyboard.press("ArrowLeft");
    await expectGone(treeItem(page, "inner.txt"));
    await treeItem(page, "a.txt").click();
    await expectVisible(page.getByLabel("Text of a.txt"));
    expect(await hasFocus(treeItem(page, "a.txt"))).toBe(true);
    expect(await treeItem(page, "a.txt").getAttribute("aria-current")).toBe("true");
    await page.keyboard.press("Delete");
    await expectVisible(page.getByText("Deleted a.txt."));
    await expectGone(treeItem(page, "a.txt"));
    expect(await editor(page).innerText()).toContain("text of a");
    await page.keyboard.press("ControlOrMeta+Z");
    await expectVisible(treeItem(page, "a.txt"));
    expect(await page.getByText("Deleted a.txt.").count()).toBe(0);
    expect(await workspace.read("a.txt")).toBe("text of a\n");
    await expectVisible(page.locator('.tab[data-temporary="true"]').getByText("a.txt"));

    await treeItem(page, "b.txt").click();
    await expectVisible(tab(page, "b.txt"));
    await expectGone(tab(page, "a.txt"));
    await page.keyboard.press("Enter");
    await eventually(() => hasFocus(editor(page))).toBe(true);
    await treeItem(page, "c.txt").dblclick();
    await eventually(() => hasFocus(page.getByLabel("Text of c.txt"))).toBe(true);
    await treeItem(page, "a.txt").click();
    await expectVisible(tab(page, "a.txt"));
    expect(await page.locator(".tab").allInnerTexts()).toEqual(["b.txt", "c.txt", "a.txt"]);
    // Typing keeps the tab.
    await editor(page).click();
    await page.keyboard.type("x");
    await expectGone(page.locator('.tab[data-temporary="true"]'));
  });

  test("several selected files are dragged, copied and deleted together", async () => {
    const files = { "a.txt": "a", "b.txt": "b", "c.txt": "c", "d.txt": "d", "folder/inside.txt": "i" };
    const workspace = await suite.emptiedWorkspace(files);
    const { page } = workspace;
    await treeItem(page, "a.txt").click();
    await page.keyboard.press("Shift+ArrowDown");
    expect(await selectedNames(page)).toEqual(["a.txt", "b.txt"]);
    await treeItem(page, "d.txt").click({ modifiers: ["ControlOrMeta"] });
    expect(await selectedNames(page)).toEqual(["a.txt", "b.txt", "d.txt"]);
    await expectGone(tab(page, "d.txt"));

    await treeItem(page, "b.txt").dragTo(treeItem(page, "folder"));
    await eventually(() => workspace.exec("ls folder")).toBe("a.txt\nb.txt\nd.txt\ninside.txt\n");
    // The tree follows the file that is open.
    await expectVisible(treeItem(page, "inside.txt"));
    await eventually(() => selectedNames(page)).toContain("a.txt");

    await treeItem(page, "a.txt").click();
    await treeItem(page, "b.txt").click({ modifiers: ["Shift"] });
    await page.keyboard.press("ControlOrMeta+C");
    await treeItem(page, "c.txt").click();
    await page.keyboard.press("ControlOrMeta+V");
    await eventually(() => workspace.exec("ls -p | grep -v /")).toBe("a.txt\nb.txt\nc.txt\n");
    await eventually(() => treeItem(page, "b.txt").count()).toBe(2);
    await treeItem(page, "a.txt").last().click();
    await treeItem(page, "c.txt").click({ modifiers: ["Shift"] });
    await page.keyboard.press("Delete");
    await eventually(() => workspace.exec("ls -p | grep -v / | wc -l")).toMatch(/^0/);
    expect(await workspace.exec("ls folder | wc -l")).toMatch(/^4/);
    await page.getByRole("button", { name: "Undo" }).click();
    await eventually(() => workspace.exec("ls -p | grep -v /")).toBe("a.txt\nb.txt\nc.txt\n");

    // The tree shows the new name before the page has the server's response.
    const answered = Promise.withResolvers<void>();
    await page.route("**/api/files/move", async (route) => {
      const response = await route.fetch();
      await answered.promise;
      await route.fulfill({ response });
    });
    await treeItem(page, "c.txt").click();
    await page.keyboard.press("F2");
    await page.keyboard.type("renamed");
    await page.keyboard.press("Enter");
    await expectVisible(treeItem(page, "renamed.txt"));
    await page.keyboard.press("ControlOrMeta+Z");
    answered.resolve();
    await expectVisible(treeItem(page, "c.txt"));
    await page.unroute("**/api/files/move");

    // This is more than the trash keeps.
    await workspace.exec("truncate -s 65M folder/large");
    await treeItem(page, "folder").click();
    await page.keyboard.press("Delete");
    await expectVisible(page.getByRole("heading", { name: "Delete folder permanently?" }));
    await page.getByRole("button", { name: "Delete" }).last().click();
    await eventually(() => workspace.exec("ls")).toBe("a.txt\nb.txt\nc.txt\n");
  });

  test("names are typed in the tree, and a new file goes to the selected folder", async () => {
    const files = { "Zebra.txt": "z", "apple.txt": "a", "folder/file10.txt": "", "folder/file9.txt": "" };
    const workspace = await suite.emptiedWorkspace(files);
    const { page } = workspace;
    await workspace.exec("ln -s folder linked && git init -q . && echo Zebra.txt > .gitignore");
    await treeItem(page, "linked").click();
    await expectVisible(treeItem(page, "file9.txt"));
    await expectVisible(treeItem(page, ".gitignore"));
    expect(await page.getByRole("treeitem").allInnerTexts()).toEqual([
      "folder",
      "linked",
      "file9.txt",
      "file10.txt",
      ".gitignore",
      "apple.txt",
      "Zebra.txt",
    ]);
    await eventually(() => page.locator(".tree-row.dimmed").allInnerTexts()).toEqual(["Zebra.txt"]);
    await treeItem(page, "linked").click();

    await treeItem(page, "folder").click();
    await page.getByRole("button", { name: "New file" }).first().click();
    const name = page.getByRole("textbox", { name: "Name of the new file" });
    await name.fill("file9.txt");
    await expectVisible(page.getByRole("alert").getByText("file9.txt already exists"));
    await name.fill("new.txt");
    await page.keyboard.press("Enter");
    await eventually(() => workspace.read("folder/new.txt")).toBe("");
    await eventually(() => hasFocus(page.getByLabel("Text of folder/new.txt"))).toBe(true);

    await treeItem(page, "apple.txt").click();
    await page.keyboard.press("F2");
    await page.getByRole("textbox", { name: "New name" }).fill("pear.txt");
    await page.keyboard.press("Enter");
    await eventually(() => hasFocus(treeItem(page, "pear.txt"))).toBe(true);
    await page.keyboard.press("z");
    await eventually(() => hasFocus(treeItem(page, "Zebra.txt"))).toBe(true);
    expect(await workspace.read("pear.txt")).toBe("a");
  });

  test("50,000 files render only the rows on the screen, and no row again for a key in the editor", async () => {
    const workspace = await suite.emptiedWorkspace({ "a.txt": "a\n" });
    const { page } = workspace;
    const folders = ["f1", "f2", "f3", "f4", "f5"];
    await workspace.exec(`for f in ${folders.join(" ")}; do mkdir $f; (cd $f; seq -f %05g.txt 10000 | xargs touch); done`);
    await page.addInitScript(countRowRenders);
    await page.reload();
    await openFile(page, "a.txt");
    // Each expanded folder adds its contents to the rows of the five folders and a.txt.
    for (const [i, folder] of folders.toReversed().entries()) {
      await treeItem(page, folder).click();
      const rows = 6 + 10_000 * (i + 1);
      await eventually(() => page.evaluate<number>("document.querySelector('.tree-rows').clientHeight")).toBe(rows * 24);
    }

    const counts = {
      down: await rowRenders(page, () => page.keyboard.press("ArrowDown")),
      end: await rowRenders(page, () => page.keyboard.press("End")),
      typing: await rowRenders(page, async () => {
        await editor(page).click();
        await page.keyboard.type("x");
        await eventually(() => workspace.read("a.txt")).toContain("x");
      }),
    };
    expect(await page.getByRole("treeitem").count()).toBeLessThan(80);
    expect(counts.down).toBeGreaterThan(0);
    expect(counts.down).toBeLessThanOrEqual(4);
    expect(counts.end).toBeLessThan(160);
    expect(counts.typing).toBeLessThanOrEqual(4);
  });
});
