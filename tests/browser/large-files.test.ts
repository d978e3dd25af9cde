import { expect, test } from "vitest";
import { describeInBrowser } from "../support/browser/browser-suite.ts";
import { editor, eventually, expectVisible, openFile } from "../support/browser/workspace.ts";

describeInBrowser("large files in the workspace", (suite) => {
  test("a 5 MB file can be opened, edited and saved", async () => {
    const line = "the quick brown fox jumps over the lazy dog, again and again\n";
    const text = line.repeat(Math.ceil((5 * 1024 * 1024) / line.length));
    await using workspace = await suite.openWorkspace({ files: { "big.txt": text } });
    const { page } = workspace;
    await openFile(page, "big.txt");
    await editor(page).click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("x");
    await page.keyboard.press("Control+S");
    await eventually(async () => (await workspace.read("big.txt"))?.length).toBe(text.length + 1);
  });

  test("binary and very large files are offered for download", async () => {
    const files = { "binary.bin": Uint8Array.of(0, 1, 2, 255), "huge.log": new Uint8Array(21 * 1024 * 1024).fill(65) };
    await using workspace = await suite.openWorkspace({ files });
    const { page } = workspace;
    await page.getByRole("treeitem", { name: "binary.bin" }).click();
    await expectVisible(page.getByText("It is not a text file"));
    await page.getByRole("treeitem", { name: "huge.log" }).click();
    await expectVisible(page.getByText("too large for the editor"));
    expect(await page.getByRole("link", { name: "Download" }).getAttribute("href")).toContain("huge.log");
  });
});
