import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { seriousFaults } from "../../support/browser/axe.ts";
import { editor, eventually, expectGone, expectVisible, tab, treeItem } from "../../support/browser/workspace.ts";
import { describeOnSharedServer } from "../../support/browser/browser-suite.ts";

describeOnSharedServer("what the workspace shows of a file", (suite) => {
  test("the README is open on the first visit, and one click shows its preview with images, task boxes and links; a folder in a path shows the tree", async () => {
    const readme = `# Welcome

<script>alert(1)</script><img src=https://example.com/x.png onerror=alert(1)>text

- [x] done
- [ ] open

<img src="img/a%20dot.png" onerror="alert(1)" alt="bitmap"> ![vector](img/v.svg) [elsewhere](docs/more.md#second-part) [code](src/a.rs#L2)
`;
    const more = `# More\n\n${"text\n\n".repeat(80)}## Second part\n\n[back](../README.md) [up](#more)\n`;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"/>`;
    await using workspace = await suite.openInSamePage({
      files: { "README.md": readme, "docs/more.md": more, "img/a dot.png": dot, "img/v.svg": svg, "src/a.rs": "one;\ntwo;\n" },
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

    // A folder in the path of the file is a link to the tree.
    await treeItem(page, "src").click();
    await expectGone(treeItem(page, "a.rs"));
    await page.getByRole("button", { name: "Side panel" }).click();
    await page.getByRole("navigation", { name: "File path" }).getByRole("button", { name: "src" }).click();
    await expectVisible(treeItem(page, "a.rs"));
  });

  test("pictures, tables, sound, PDF files and bytes are shown, and nothing in them runs", async () => {
    const script = "window.top.hasRun = true";
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" onload="${script}"><script>${script}</script></svg>`;
    const csv = `name,note\n${Array.from({ length: 5000 }, (_, i) => `row ${i},"a, b"\n`).join("")}`;
    const files = {
      "dot.png": dot,
      "evil.svg": svg,
      "table.csv": csv,
      "tone.wav": silence(10),
      "data.bin": new Uint8Array(200_000).map((_, i) => i),
      "paper.pdf": "%PDF-1.4\n%%EOF\n",
      "page.pdf": `<script>${script}</script>`,
    };
    await using workspace = await suite.openInSamePage({ files, closed: true });
    const { page } = workspace;
    // A headless browser has no viewer for PDF files.
    await page.addInitScript("Object.defineProperty(Navigator.prototype, 'pdfViewerEnabled', { get: () => true })");
    await page.addInitScript(
      "const create = URL.createObjectURL; URL.createObjectURL = (blob) => ((window.lastType = blob.type), create.call(URL, blob))",
    );
    await page.goto(await workspace.link());
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

    await treeItem(page, "paper.pdf").click();
    await expectVisible(page.locator('iframe[title="Pages of paper.pdf"][src^="blob:"]'));
    expect(await page.evaluate("window.lastType")).toBe("application/pdf");
    await treeItem(page, "page.pdf").click();
    await expectVisible(page.getByText("It is not a PDF file, although its name says so."));
    await expectVisible(page.getByRole("button", { name: "Download" }));
    expect(await page.evaluate<boolean>("window.hasRun === true")).toBe(false);
  });
});

const dot = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

// The width of the picture in an image element; 0 until it is loaded.
const widthOf = (image: Locator) => image.evaluate((element) => Number(Reflect.get(element, "naturalWidth")));

async function isOnScreen(what: Locator): Promise<boolean> {
  const [box, frame] = [await what.boundingBox(), await what.page().locator(".markdown-view").boundingBox()];
  return box !== null && frame !== null && box.y >= frame.y - 1 && box.y < frame.y + frame.height;
}

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
