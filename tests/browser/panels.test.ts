import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { seriousFaults } from "../support/browser/axe.ts";
import {
  clickInTerminal,
  editor,
  eventually,
  expectGone,
  expectVisible,
  hasFocus,
  openFile,
  tab,
  treeItem,
  typeInTerminal,
} from "../support/browser/workspace.ts";
import { describeInBrowser } from "../support/browser/browser-suite.ts";

describeInBrowser("the panels of the workspace", (suite) => {
  test("a search result opens its line", async () => {
    await using workspace = await suite.openWorkspace({ files: { "src/a.ts": "one\ntwo\nneedle here\n", "b.txt": "hay\n" } });
    const { page } = workspace;
    await expectVisible(treeItem(page, "b.txt"));
    await page.keyboard.press("Control+Shift+F");
    await page.getByRole("textbox", { name: "Search in files" }).fill("needle");
    await expectVisible(page.getByText("1 match in 1 file"));
    await page.getByRole("button", { name: /needle here/ }).click();
    await expectVisible(page.getByLabel("Text of src/a.ts"));
    await expectVisible(page.getByText("Ln 3, Col 7 (6 selected)"));
  });

  test("the search keeps its query, takes the selected text, and shows the matches of every file", async () => {
    const files = { "a.log": "needle\n".repeat(150), "src/b.ts": "const needle = 1;\n" };
    await using workspace = await suite.openWorkspace({ files });
    const { page } = workspace;
    const query = page.getByRole("textbox", { name: "Search in files" });
    await openFile(page, "a.log");
    await editor(page).getByText("needle").first().dblclick();
    await expectVisible(page.getByText("(6 selected)"));
    await page.keyboard.press("Control+Shift+F");
    await eventually(() => query.inputValue()).toBe("needle");
    await eventually(() => hasFocus(query)).toBe(true);
    await expectVisible(page.getByText("101 matches in 2 files"));
    expect(await page.locator(".result-file .name").allInnerTexts()).toEqual(["b.ts", "a.log"]);
    await page.getByRole("button", { name: "More in this file" }).click();
    await eventually(() => page.locator(".result-line").count()).toBe(151);

    const views = page.getByRole("navigation", { name: "Views" });
    await views.getByRole("button", { name: "Files" }).click();
    await views.getByRole("button", { name: "Search" }).click();
    expect(await query.inputValue()).toBe("needle");
    await query.fill("(");
    await page.getByRole("button", { name: "Regular expression" }).click();
    await expectVisible(page.getByText("This is not a valid regular expression: Unterminated group"));
  });

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
    await page.keyboard.insertText('{ "editor.keymap": "vim", "editor.lineNumbers": "off", "editor.fontSize": 18 }');
    await expectGone(page.getByText("editor.keymap must be"));
    await tab(page, "a.txt").click();
    await expectVisible(page.locator(".cm-vim-panel"));
    await expectGone(page.locator(".cm-lineNumbers"));
    await editor(page).click();
    await page.keyboard.press("Escape");
    await page.keyboard.type("gg0dw:w\n");
    await eventually(() => workspace.read("a.txt")).toBe("two\nthree\n");

    const other = await workspace.another();
    await openFile(other, "a.txt");
    await eventually(() => fontSize(other)).toBe("18px");
    await expectVisible(other.locator(".cm-vim-panel"));
    await other.keyboard.press("F1");
    await other.getByRole("combobox").fill(">keyboard short");
    await other.keyboard.press("Enter");
    await expectVisible(other.getByRole("row", { name: "Go to line… Ctrl+G" }));
  });

  test("replacing in files shows each change first, leaves out what the person excludes, and can be undone", async () => {
    const files = { "a.txt": "cat one\ncat two\n", "b.txt": "a cat\n", "docs/c.md": "cat\n", "d.txt": "cat\n" };
    await using workspace = await suite.openWorkspace({ files });
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

  test("a new port is announced, and its preview opens beside the code or in a tab, on its own origin", async () => {
    const server = `require("node:http").createServer((q, r) => {
      r.setHeader("content-type", "text/html");
      r.end("<h1>hello from " + q.url + "</h1><a href='/inside'>go inside</a>");
    }).listen(4321);`;
    await using workspace = await suite.openWorkspace({ files: { "server.cjs": server, "a.txt": "a\n" } });
    const { page } = workspace;
    await typeInTerminal(page, "node server.cjs || /opt/berth/bin/node server.cjs\n");
    const frame = page.frameLocator('iframe[title="Preview of port 4321"]');
    await openFile(page, "a.txt");
    await expectVisible(page.getByText("listens on port 4321."));
    await page.getByRole("region", { name: "Notices" }).getByRole("button", { name: "Open" }).click();
    await expectVisible(frame.getByRole("heading", { name: "hello from /" }));
    await expectVisible(editor(page));
    await page.getByRole("combobox", { name: "Size of the page" }).selectOption("Phone, 390 × 844");
    expect(await page.frames()[1]!.evaluate("innerWidth")).toBe(390);
    expect(await seriousFaults(page)).toEqual([]);
    await tab(page, "Port 4321").press("Delete");
    await expectGone(page.locator("iframe"));

    await page.getByRole("button", { name: "Port 4321" }).click();
    await expectVisible(page.getByRole("button", { name: "Ports, 1 open" }));
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByTitle("Show port 4321 beside the code").click();
    await expectVisible(frame.getByRole("heading", { name: "hello from /" }));
    await tab(page, "Port 4321").press("Delete");
    // A link for others opens in a browser that has no access to the workspace.
    await page.getByRole("button", { name: "Share port 4321" }).click();
    await page.getByRole("button", { name: "8 hours" }).click();
    const link = await page.getByRole("textbox", { name: "Link" }).inputValue();
    expect(await seriousFaults(page)).toEqual([]);
    await page.keyboard.press("Escape");
    const visitor = await (await suite.browser.newContext()).newPage();
    await visitor.goto(link);
    await expectVisible(visitor.getByRole("heading", { name: "hello from /" }));
    expect((await visitor.goto(new URL(page.url()).href))!.status()).toBe(401);

    await page.getByRole("button", { name: "Preview port 4321 here" }).click();
    await expectVisible(frame.getByRole("heading", { name: "hello from /" }));

    // The address follows links and scripts in the page, and the page stays while another tab is shown.
    const path = page.getByRole("textbox", { name: "Path" });
    await frame.getByRole("link", { name: "go inside" }).click();
    await eventually(() => path.inputValue()).toBe("/inside");
    const inside = page.frames().find((each) => each.url().endsWith("/inside"))!;
    await inside.evaluate("history.pushState(null, '', '/routed?by=script')");
    await eventually(() => path.inputValue()).toBe("/routed?by=script");
    await inside.evaluate("window.stayed = true");
    await page.getByRole("button", { name: "Files", exact: true }).click();
    await openFile(page, "a.txt");
    await expectGone(page.locator(".preview:visible"));
    await tab(page, "Port 4321").click();
    expect(await inside.evaluate("window.stayed")).toBe(true);
    expect(await path.inputValue()).toBe("/routed?by=script");

    await path.fill("/other");
    await page.keyboard.press("Enter");
    await expectVisible(frame.getByRole("heading", { name: "hello from /other" }));
    const opening = page.context().waitForEvent("page");
    await page.getByRole("button", { name: "Open in a new tab" }).click();
    const opened = await opening;
    await expectVisible(opened.getByRole("heading", { name: "hello from /other" }));
    expect(await opened.evaluate<boolean>("window.opener === null")).toBe(true);
    const origins = page.frames().map((each) => new URL(each.url()).origin);
    expect(new Set(origins).size).toBe(2);

    // The browser's own localhost is another machine, so the link leads to the preview.
    await workspace.exec("echo 'see http://127.0.0.1:4321/printed?by=server' > note.txt");
    await page.getByRole("button", { name: "New terminal" }).click();
    await typeInTerminal(page, "cat note.txt\n");
    await clickInTerminal(page, "127.0.0.1:4321/printed");
    await expectVisible(frame.getByRole("heading", { name: "hello from /printed?by=server" }));
    await eventually(() => path.inputValue()).toBe("/printed?by=server");
  });

  test("files and folders dropped on the tree are uploaded; existing files are replaced only after a confirmation", async () => {
    await using workspace = await suite.openWorkspace({ files: { "folder/a.txt": "theirs\n" } });
    const { page } = workspace;
    const outside = await mkdtemp(join(tmpdir(), "berth-drop-"));
    await mkdir(join(outside, "folder/deep"), { recursive: true });
    for (const path of ["one.txt", "folder/a.txt", "folder/deep/b.txt"]) await writeFile(join(outside, path), "mine\n");
    await expectVisible(treeItem(page, "folder"));

    // The folder was never expanded, so the page does not know its files.
    await dropFiles(page, [join(outside, "one.txt"), join(outside, "folder")]);
    await expectVisible(page.getByRole("heading", { name: "Replace existing files?" }));
    await expectVisible(page.getByText("folder/a.txt", { exact: true }));
    expect([await workspace.read("one.txt"), await workspace.read("folder/deep/b.txt"), await workspace.read("folder/a.txt")]).toEqual([
      "mine\n",
      "mine\n",
      "theirs\n",
    ]);
    await page.getByRole("button", { name: "Replace" }).click();
    await eventually(() => workspace.read("folder/a.txt")).toBe("mine\n");

    // A folder that is chosen, with progress. The server is slow, so that the upload can be cancelled.
    await page.route("**/api/files/content**", (route) => (route.request().method() === "PUT" ? undefined : route.continue()));
    await page.getByRole("button", { name: "Upload", exact: true }).click();
    const [chooser] = await Promise.all([
      page.waitForEvent("filechooser"),
      page.getByRole("menuitem", { name: "Upload a folder" }).click(),
    ]);
    await chooser.setFiles(join(outside, "folder"));
    await expectVisible(page.getByText("Uploading 2 files: 0 B of 10 B"));
    await page.getByRole("button", { name: "Cancel the upload" }).click();
    await expectVisible(page.getByText("The upload was cancelled."));
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.getByRole("button", { name: "Upload", exact: true }).click();
    const [second] = await Promise.all([page.waitForEvent("filechooser"), page.getByRole("menuitem", { name: "Upload files" }).click()]);
    await second.setFiles({ name: "chosen.txt", mimeType: "text/plain", buffer: Buffer.from("chosen\n") });
    await eventually(() => workspace.read("chosen.txt")).toBe("chosen\n");

    // The browser would leave the page to show a file that no part of the page accepts.
    for (const target of [".terminal-panel", ".editor-area", ".top-bar"]) expect(await isDropHandled(page, target)).toBe(true);
    await rm(outside, { recursive: true });
  });

  test("a folder's path can be copied, and it can be downloaded as a zip", async () => {
    await using workspace = await suite.openWorkspace({ files: { "folder/a.txt": "a\n" }, closed: true });
    const { page } = workspace;
    // As on a plain http host, where browsers offer less.
    await page.addInitScript("delete Navigator.prototype.clipboard; delete Crypto.prototype.randomUUID");
    await page.goto(await workspace.link());
    await treeItem(page, "folder").click({ button: "right" });
    await page.getByRole("menuitem", { name: "Copy path" }).click();
    await page.keyboard.press("Control+P");
    await page.getByRole("combobox").press("Control+V");
    await eventually(() => page.getByRole("combobox").inputValue()).toBe("folder");
    await page.keyboard.press("Escape");
    await treeItem(page, "folder").click({ button: "right" });
    const downloading = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: "Download as zip" }).click();
    expect((await downloading).suggestedFilename()).toBe("folder.zip");
  });

  test("pictures, tables, sound and bytes are shown, and nothing in them runs", async () => {
    const script = "window.top.hasRun = true";
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" onload="${script}"><script>${script}</script></svg>`;
    const csv = `name,note\n${Array.from({ length: 5000 }, (_, i) => `row ${i},"a, b"\n`).join("")}`;
    const files = {
      "dot.png": dot,
      "evil.svg": svg,
      "table.csv": csv,
      "tone.wav": silence(10),
      "data.bin": new Uint8Array(200_000).map((_, i) => i),
    };
    await using workspace = await suite.openWorkspace({ files });
    const { page } = workspace;
    await treeItem(page, "dot.png").click();
    await eventually(() => widthOf(page.getByRole("img", { name: "dot.png" }))).toBe(1);
    await expectVisible(page.getByText("1 × 1 pixels"));
    await page.getByRole("button", { name: "Zoom in" }).click();
    await expectVisible(page.getByRole("button", { name: "125 %" }));

    await treeItem(page, "evil.svg").click();
    await eventually(() => widthOf(page.getByRole("img", { name: "evil.svg" }))).toBe(20);
    await page.getByRole("button", { name: "Text", exact: true }).click();
    await eventually(() => page.getByLabel("Text of evil.svg").innerText()).toContain("<script>");
    expect(await page.evaluate<boolean>("window.hasRun === true")).toBe(false);

    await treeItem(page, "table.csv").click();
    await expectVisible(page.getByRole("cell", { name: "a, b" }).first());
    expect(await page.getByRole("table").getAttribute("aria-rowcount")).toBe("5001");
    expect(await page.getByRole("row").count()).toBeLessThan(100);
    await page.getByRole("table").press("End");
    await expectVisible(page.getByRole("cell", { name: "row 4999" }));
    expect(await seriousFaults(page)).toEqual([]);

    const parts = new Set<number>();
    page.on("response", (response) => void (response.url().includes("tone.wav") && parts.add(response.status())));
    await treeItem(page, "tone.wav").click();
    const seconds = () => page.evaluate<number>("document.querySelector('audio')?.duration ?? 0");
    await eventually(seconds).toBe(10);
    expect([...parts]).toContain(206);

    await treeItem(page, "data.bin").click();
    await expectVisible(page.getByText("20 21 22 23 24 25 26 27").first());
    await page.getByRole("group", { name: "Bytes of data.bin" }).press("End");
    await expectVisible(page.getByText("00030d30"));
    expect(await seriousFaults(page)).toEqual([]);
  });

  test("the README is open on the first visit, and one click shows its preview with images, task boxes and links", async () => {
    const readme = `# Welcome

<script>alert(1)</script><img src=https://example.com/x.png onerror=alert(1)>text

- [x] done
- [ ] open

<img src="img/a%20dot.png" onerror="alert(1)" alt="bitmap"> ![vector](img/v.svg) [elsewhere](docs/more.md#second-part) [code](src/a.ts#L2)
`;
    const more = `# More\n\n${"text\n\n".repeat(80)}## Second part\n\n[back](../README.md) [up](#more)\n`;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"/>`;
    await using workspace = await suite.openWorkspace({
      files: { "README.md": readme, "docs/more.md": more, "img/a dot.png": dot, "img/v.svg": svg, "src/a.ts": "one;\ntwo;\n" },
    });
    const { page } = workspace;
    await expectVisible(editor(page));
    await page.getByRole("button", { name: "Open preview" }).click();
    await expectVisible(page.getByRole("heading", { name: "Welcome" }));
    expect(await page.locator(".prose script, .prose img[onerror], .prose img[src*=example]").count()).toBe(0);
    expect(await page.locator(".prose").getByRole("checkbox", { name: "Done" }).isChecked()).toBe(true);
    expect(await page.locator(".prose").getByRole("checkbox", { name: "To do" }).isChecked()).toBe(false);
    for (const [name, width] of [
      ["bitmap", 1],
      ["vector", 20],
    ] as const)
      await eventually(() => widthOf(page.getByRole("img", { name }))).toBe(width);
    expect(await seriousFaults(page)).toEqual([]);

    await page.getByRole("link", { name: "elsewhere" }).click();
    await expectVisible(tab(page, "more.md: preview"));
    const [second, first] = [page.getByRole("heading", { name: "Second part" }), page.getByRole("heading", { name: "More" })];
    await eventually(() => isOnScreen(second)).toBe(true);
    await page.getByRole("link", { name: "up" }).click();
    await eventually(() => isOnScreen(first)).toBe(true);
    await page.getByRole("link", { name: "back" }).click();
    // The images are the last part of the preview to appear.
    await eventually(() => widthOf(page.getByRole("img", { name: "vector" }))).toBe(20);
    await page.getByRole("link", { name: "code" }).click();
    await expectVisible(page.getByText("Ln 2, Col 1"));
  });

  test("clicking a folder in the file path shows it in the tree", async () => {
    await using workspace = await suite.openWorkspace({ files: { "src/deep/a.ts": "export {};\n", "b.txt": "b\n" } });
    const { page } = workspace;
    await expectVisible(treeItem(page, "b.txt"));
    await page.keyboard.press("Control+P");
    await page.getByRole("combobox").fill("a.ts");
    await page.getByRole("option", { name: "a.ts" }).click();
    await page.getByRole("button", { name: "Side panel" }).click();
    await page.getByRole("navigation", { name: "File path" }).getByRole("button", { name: "deep" }).click();
    await expectVisible(treeItem(page, "a.ts"));
  });
});

const dot = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

// The width of the picture in an image element; 0 until it is loaded.
const widthOf = (image: Locator) => image.evaluate((element) => Number(Reflect.get(element, "naturalWidth")));

async function isOnScreen(what: Locator): Promise<boolean> {
  const [box, frame] = [await what.boundingBox(), await what.page().locator(".markdown-view").boundingBox()];
  return box !== null && frame !== null && box.y >= frame.y - 1 && box.y < frame.y + frame.height;
}

// Drops real files and folders, as from the desktop.
// A sound file of some seconds.
function silence(seconds: number): Uint8Array {
  const bytes = Buffer.alloc(44 + seconds * 8000, 128);
  bytes.write("RIFF", 0);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write("WAVEfmt ", 8);
  bytes.writeUInt32LE(16, 16);
  for (const [i, value] of [1, 1].entries()) bytes.writeUInt16LE(value, 20 + 2 * i);
  bytes.writeUInt32LE(8000, 24);
  bytes.writeUInt32LE(8000, 28);
  for (const [i, value] of [1, 8].entries()) bytes.writeUInt16LE(value, 32 + 2 * i);
  bytes.write("data", 36);
  bytes.writeUInt32LE(seconds * 8000, 40);
  return bytes;
}

async function dropFiles(page: Page, files: string[]): Promise<void> {
  const box = (await page.locator(".panel-body").boundingBox())!;
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const)
    await session.send("Input.dispatchDragEvent", { type, x: box.x + box.width / 2, y: box.y + box.height - 20, data });
}

// Whether the page handles a file that is dropped on an element. The browser handles all others.
const isDropHandled = (page: Page, target: string): Promise<boolean> =>
  page.evaluate<boolean>(`(() => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["text"], "file.txt"));
    return ["dragover", "drop"].every((type) => {
      const event = new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer });
      document.querySelector(${JSON.stringify(target)}).dispatchEvent(event);
      return event.defaultPrevented;
    });
  })()`);
