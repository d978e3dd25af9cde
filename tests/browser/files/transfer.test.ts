import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { eventually, expectVisible, treeItem } from "../../support/browser/workspace.ts";
import { describeOnSharedServer } from "../../support/browser/browser-suite.ts";

describeOnSharedServer("uploads and downloads", (suite) => {
  test("files and folders dropped on the tree are uploaded; existing files are replaced only after a confirmation", async () => {
    const workspace = await suite.sharedWorkspace({ "folder/a.txt": "theirs\n" });
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

  test("a folder's path can be copied, and it can be downloaded as a zip, with progress", async () => {
    const { page } = await suite.sharedWorkspace({ "folder/a.txt": "a\n" });
    // Browsers offer less on a plain http host.
    await page.addInitScript("delete Navigator.prototype.clipboard; delete Crypto.prototype.randomUUID");
    await page.reload();
    await treeItem(page, "folder").click({ button: "right" });
    await page.getByRole("menuitem", { name: "Copy path" }).click();
    await page.keyboard.press("Control+P");
    await page.getByRole("combobox").press("Control+V");
    await eventually(() => page.getByRole("combobox").inputValue()).toBe("folder");
    await page.keyboard.press("Escape");
    const startDownload = async () => {
      await treeItem(page, "folder").click({ button: "right" });
      await page.getByRole("menuitem", { name: "Download as zip" }).click();
    };
    // The server is slow, so that the download can be cancelled.
    await page.route("**/api/files/archive**", () => undefined);
    await startDownload();
    await expectVisible(page.getByText("Downloading folder.zip: 0 B so far"));
    await page.getByRole("button", { name: "Cancel the download" }).click();
    await expectVisible(page.getByText("The download of folder.zip was cancelled."));
    await page.unrouteAll({ behavior: "ignoreErrors" });
    const downloading = page.waitForEvent("download");
    await startDownload();
    const zip = await downloading;
    expect(zip.suggestedFilename()).toBe("folder.zip");
    expect((await readFile(await zip.path())).subarray(0, 2).toString()).toBe("PK");
  });
});

// Drops real files and folders, as from the desktop.
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
