import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  editor,
  eventually,
  expectGone,
  hasFocus,
  openFile,
  expectVisible,
  tab,
  treeItem,
  typeAtStart,
} from "../../support/browser/workspace.ts";
import { describeOnSharedServer } from "../../support/browser/browser-suite.ts";

// Runs the work while autosave is off.
async function withoutAutosave(page: Page, work: () => Promise<void>): Promise<void> {
  await page.getByRole("button", { name: "Autosave: on" }).click();
  await work();
  await page.getByRole("button", { name: "Autosave: off" }).click();
  await expectVisible(page.getByRole("button", { name: "Autosave: on" }));
}

describeOnSharedServer("editing in the workspace", (suite) => {
  test("a file that is created, edited and saved can be read by a command", async () => {
    const workspace = await suite.sharedWorkspace();
    const { page } = workspace;
    await page.getByRole("button", { name: "New file" }).first().click();
    await page.getByRole("textbox", { name: "Name of the new file" }).fill("notes/today.txt");
    await page.keyboard.press("Enter");
    await eventually(() => hasFocus(editor(page))).toBe(true);
    await page.keyboard.type("buy bread");
    await page.keyboard.press("Control+S");
    await eventually(() => workspace.exec("cat notes/today.txt")).toBe("buy bread");
    // A running animation would make the browser draw all the time. The caret blinks without one.
    await eventually(() => page.evaluate("document.getAnimations().filter((one) => one.playState === 'running').length")).toBe(0);
    await eventually(() => page.locator(".cm-cursorLayer").evaluate((layer) => layer.style.opacity)).toBe("0");
    await eventually(() => page.locator(".cm-cursorLayer").evaluate((layer) => layer.style.opacity)).toBe("");
  });

  test("autosave writes what was typed, and the tab is marked until then", async () => {
    const workspace = await suite.sharedWorkspace({ "autosaved.txt": "one\n" });
    const { page } = workspace;
    await openFile(page, "autosaved.txt");
    await editor(page).click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("two");
    await expectVisible(tab(page, "autosaved.txt (unsaved)"));
    await eventually(() => workspace.read("autosaved.txt")).toBe("one\ntwo");
    await expectGone(tab(page, "autosaved.txt (unsaved)"));
  });

  test("the editor shows a change on disk if its text is not edited, also one before the events are connected", async () => {
    await using workspace = await suite.openWorkspace({ files: { "README.md": "first\n" }, closed: true });
    const { page } = workspace;
    const connecting = Promise.withResolvers<void>();
    await page.routeWebSocket(/\/api\/events$/, async (socket) => {
      await connecting.promise;
      socket.connectToServer();
    });
    await page.goto(await workspace.link());
    await eventually(() => editor(page).innerText()).toContain("first");
    await workspace.write("README.md", "second\n");
    connecting.resolve();
    await eventually(() => editor(page).innerText()).toContain("second");
    await workspace.write("README.md", "third\n");
    await eventually(() => editor(page).innerText()).toContain("third");
  });

  test("a change on disk does not replace an edited text; the person compares and decides", async () => {
    const workspace = await suite.sharedWorkspace({ "conflict-a.txt": "base\n", "conflict-b.txt": "base\n" });
    const { page } = workspace;
    await withoutAutosave(page, async () => {
      await openFile(page, "conflict-a.txt");
      await typeAtStart(page, "mine ");
      await workspace.write("conflict-a.txt", "theirs\n");
      await expectVisible(page.getByText("was changed by someone else"));
      expect(await editor(page).innerText()).toContain("mine base");
      await page.getByRole("button", { name: "Compare" }).click();
      await expectVisible(page.locator(".cm-mergeView").getByText("theirs"));
      await page.getByRole("button", { name: "Keep mine" }).click();
      await eventually(() => workspace.read("conflict-a.txt")).toBe("mine base\n");

      await openFile(page, "conflict-b.txt");
      await typeAtStart(page, "mine ");
      await workspace.write("conflict-b.txt", "theirs\n");
      await page.getByRole("button", { name: "Take theirs" }).click();
      await eventually(() => editor(page).innerText()).toContain("theirs");
      expect(await workspace.read("conflict-b.txt")).toBe("theirs\n");
    });
  });

  test("a file deleted on disk stays open and can be saved again", async () => {
    const workspace = await suite.sharedWorkspace({ "precious.txt": "precious\n" });
    const { page } = workspace;
    await openFile(page, "precious.txt");
    await workspace.exec("rm precious.txt");
    await expectVisible(page.getByText("was deleted on disk"));
    await page.getByRole("button", { name: "Save again" }).click();
    await eventually(() => workspace.read("precious.txt")).toBe("precious\n");
  });

  test("a read-only file is not overwritten, autosave tries again, and a file replaced by a folder is marked as deleted", async () => {
    const workspace = await suite.sharedWorkspace({ "kept.txt": "kept\n", "becomes-folder.txt": "text\n" });
    const { page } = workspace;
    await workspace.exec("chmod 444 kept.txt");
    await openFile(page, "kept.txt");
    await typeAtStart(page, "mine ");
    await page.keyboard.press("Control+S");
    await expectVisible(page.getByText("Could not save kept.txt: The file permissions do not allow this"));
    expect(await workspace.read("kept.txt")).toBe("kept\n");
    // The notice is above the terminals and their buttons.
    const [notices, terminals] = [page.getByRole("region", { name: "Notices" }), page.locator(".terminal-panel")];
    await eventually(async () => {
      const [notice, panel] = [(await notices.boundingBox())!, (await terminals.boundingBox())!];
      return notice.y > 40 && notice.y + notice.height <= panel.y;
    }).toBe(true);
    await expectVisible(page.getByRole("button", { name: "Autosave: retrying" }));
    await workspace.exec("chmod 644 kept.txt");
    await eventually(() => workspace.read("kept.txt")).toBe("mine kept\n");
    await expectVisible(page.getByRole("button", { name: "Autosave: on" }));
    await expectGone(page.getByText("Could not save kept.txt"));

    await openFile(page, "becomes-folder.txt");
    await workspace.exec("rm becomes-folder.txt && mkdir becomes-folder.txt");
    await expectVisible(page.locator(".tab.gone").getByText("becomes-folder.txt"));
  });

  test("unsaved text is restored after a reload, to its last letter", async () => {
    const workspace = await suite.sharedWorkspace({ "unsaved.txt": "base\n" });
    const { page } = workspace;
    await withoutAutosave(page, async () => {
      await openFile(page, "unsaved.txt");
      await typeAtStart(page, "unsaved ");
      await page.reload();
      await expectVisible(tab(page, "unsaved.txt (unsaved)"));
      await eventually(() => editor(page).innerText()).toContain("unsaved base");
      expect(await workspace.read("unsaved.txt")).toBe("base\n");
    });
  });

  test("a renamed file keeps its undo history, and files are indented by language and .editorconfig", async () => {
    const files = { "a.rs": "base\n", "indented.txt": "", ".editorconfig": "[indented.txt]\nindent_style = space\nindent_size = 3\n" };
    const workspace = await suite.sharedWorkspace(files);
    const { page } = workspace;
    await openFile(page, "a.rs");
    await typeAtStart(page, "x");
    await eventually(() => workspace.read("a.rs")).toBe("xbase\n");
    await treeItem(page, "a.rs").click();
    await page.keyboard.press("F2");
    await page.keyboard.type("b");
    await page.keyboard.press("Enter");
    await page.getByLabel("Text of b.rs").click();
    await page.keyboard.press("Control+Z");
    await page.keyboard.press("Control+Home");
    await page.locator('.cm-content[data-language="rust"]').waitFor();
    await page.keyboard.type("fn f() {\npass();\n}\n");
    await eventually(() => workspace.read("b.rs")).toBe("fn f() {\n    pass();\n}\nbase\n");
    const configured = page.waitForResponse((response) => response.url().includes(".editorconfig"));
    await openFile(page, "indented.txt");
    await configured;
    await editor(page).click();
    await page.keyboard.press("Tab");
    await page.keyboard.type("three");
    await eventually(() => workspace.read("indented.txt")).toBe("   three");
  });

  test("line endings, a byte order mark and other encodings survive an edit", async () => {
    const original = "\uFEFFone\r\ntwo\r\n";
    const latin = Uint8Array.of(0x63, 0x61, 0x66, 0xe9);
    const workspace = await suite.sharedWorkspace({ "dos.txt": original, "latin.txt": latin });
    const { page } = workspace;
    await openFile(page, "dos.txt");
    await editor(page).click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("three");
    await page.keyboard.press("Control+S");
    await eventually(() => workspace.read("dos.txt")).toBe(`${original}three`);

    await openFile(page, "latin.txt");
    expect(await editor(page).innerText()).toBe("café");
    await typeAtStart(page, "x");
    await page.keyboard.press("Control+S");
    await eventually(() => workspace.exec("od -An -tx1 latin.txt")).toBe(" 78 63 61 66 e9\n");
    await page.getByRole("button", { name: "Windows-1252" }).click();
    await page.getByRole("button", { name: "Convert" }).click();
    await eventually(() => workspace.read("latin.txt")).toBe("xcafé");
  });

  test("a 5 MB file and a line of 1 MB can be opened, edited and saved", async () => {
    const line = "the quick brown fox jumps over the lazy dog, again and again\n";
    const text = line.repeat(Math.ceil((5 * 1024 * 1024) / line.length));
    const long = `{"a":[${'{"k":"v","n":12},'.repeat(60_000)}0]}`;
    const workspace = await suite.sharedWorkspace({ "big.txt": text, "long.json": long, "short.json": '{"k":"v"}' });
    const { page } = workspace;
    await openFile(page, "big.txt");
    await editor(page).click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("x");
    await page.keyboard.press("Control+S");
    await eventually(async () => (await workspace.read("big.txt"))?.length).toBe(text.length + 1);

    // A long line has no colours, because parsing it at every key would be slow.
    const coloured = editor(page).locator(`.cm-line span[class^="ͼ"]`);
    await openFile(page, "short.json");
    await expectVisible(coloured.first());
    await openFile(page, "long.json");
    await editor(page).click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("[abcdefghi");
    expect(await coloured.count()).toBe(0);
    await page.keyboard.press("Control+S");
    await eventually(async () => (await workspace.read("long.json"))?.slice(0, 15)).toBe('[abcdefghi{"a":');
  });

  test("binary files are shown as bytes, and very large files are offered for download", async () => {
    const files = { "binary.bin": Uint8Array.of(0, 1, 2, 255), "huge.log": new Uint8Array(21 * 1024 * 1024).fill(65) };
    const workspace = await suite.sharedWorkspace(files);
    const { page } = workspace;
    await page.getByRole("treeitem", { name: "binary.bin" }).click();
    await expectVisible(page.getByText("00 01 02 ff"));
    await page.getByRole("treeitem", { name: "huge.log" }).click();
    await expectVisible(page.getByText("too large for the editor"));
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    expect((await downloading).suggestedFilename()).toBe("huge.log");
  });
});
