import { expect, test } from "vitest";
import { seriousFaults } from "../support/browser/axe.ts";
import { eventually, expectGone, expectVisible } from "../support/browser/workspace.ts";
import { describeInBrowser } from "../support/browser/browser-suite.ts";

const bytes = new Uint8Array([0, 1, 2]);

describeInBrowser("the changes view", (suite) => {
  test("changes since git's HEAD are listed, compared and reverted", async () => {
    await using workspace = await suite.openWorkspace({ files: { "a.txt": "one\ntwo\n", "b.txt": "b\n", "d.bin": bytes } });
    const { page } = workspace;
    await workspace.exec("git init -q && git add . && git -c user.name=t -c user.email=t@localhost commit -qm first");
    await page.getByRole("button", { name: "Changes", exact: true }).click();
    await expectVisible(page.getByText("No changes since"));

    await workspace.exec("printf '\\0\\1\\2\\3' > d.bin");
    await page.getByRole("button", { name: "modified d.bin" }).click();
    await expectVisible(page.getByText("Before: 3 B. Now: 4 B."));
    await workspace.write("d.bin", bytes);
    await expectVisible(page.getByText("No changes since"));

    await workspace.exec("echo three >> a.txt; rm b.txt; echo new > c.txt");
    const list = page.getByRole("complementary", { name: "changes" });
    await expectVisible(list.getByText("3 files changed"));
    await list.getByRole("button", { name: "modified a.txt" }).click();
    await expectVisible(page.locator(".diff").getByText("three"));
    expect(await seriousFaults(page)).toEqual([]);

    await list.getByRole("button", { name: "Revert a.txt" }).click();
    await page.getByRole("button", { name: "Revert", exact: true }).click();
    await eventually(() => workspace.read("a.txt")).toBe("one\ntwo\n");
    await list.getByRole("button", { name: "Revert b.txt" }).click();
    await page.getByRole("button", { name: "Revert", exact: true }).click();
    await eventually(() => workspace.read("b.txt")).toBe("b\n");
    await list.getByRole("button", { name: "Revert c.txt" }).click();
    await page.getByRole("button", { name: "Revert", exact: true }).click();
    await eventually(() => workspace.read("c.txt")).toBeNull();
    await expectGone(list.getByRole("button", { name: /Revert/ }));
  });

  test("without git, changes since the session's start are listed", async () => {
    await using workspace = await suite.openWorkspace();
    const { page } = workspace;
    await page.getByRole("button", { name: "Changes", exact: true }).click();
    await expectVisible(page.getByText("No changes since"));
    await workspace.write("made.txt", "made\n");
    await expectVisible(page.getByRole("button", { name: "added made.txt" }));
    expect(await page.getByText("1 file changed since the session's start").count()).toBe(1);
  });
});
