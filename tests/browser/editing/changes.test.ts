import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { seriousFaults } from "../../support/browser/axe.ts";
import { editor, eventually, expectGone, expectVisible, openFile, typeAtStart } from "../../support/browser/workspace.ts";
import { describeOnSharedServer } from "../../support/browser/browser-suite.ts";

const bytes = new Uint8Array([0, 1, 2]);

// The buttons of a row appear when the pointer is on it.
async function press(list: Locator, name: string): Promise<void> {
  await list.getByRole("button", { name }).focus();
  await list.page().keyboard.press("Enter");
}

async function runCommand(page: Page, title: string): Promise<void> {
  await page.keyboard.press("F1");
  await page.keyboard.type(title);
  await page.keyboard.press("Enter");
}

describeOnSharedServer("the changes view", (suite) => {
  test("without git, changes since the session's start are listed", async () => {
    const workspace = await suite.sharedWorkspace();
    const { page } = workspace;
    await page.getByRole("button", { name: "Changes", exact: true }).click();
    await expectVisible(page.getByText("No changes since"));
    await workspace.write("made.txt", "made\n");
    await expectVisible(page.getByRole("button", { name: "added made.txt" }));
    expect(await page.getByText("1 file changed since the session's start").count()).toBe(1);
  });

  test("changed files are marked, staged, compared, committed, discarded and pushed", async () => {
    const workspace = await suite.emptiedWorkspace({ "a.txt": "one\ntwo\n", "b.txt": "b\n", "d.bin": bytes });
    const { page } = workspace;
    await workspace.exec("git init -q -b main && git add . && git -c user.name=t -c user.email=t@localhost commit -qm first");
    await workspace.exec("git init -q --bare -b main /tmp/bare.git && git remote add origin /tmp/bare.git");
    await page.getByRole("button", { name: "Changes", exact: true }).click();
    const panel = page.getByRole("complementary", { name: "changes" });
    await expectVisible(panel.getByText("No changes since the last commit"));

    await workspace.exec("printf '\\0\\1\\2\\3' > d.bin; echo three >> a.txt; rm b.txt; echo new > c.txt");
    const unstaged = panel.getByRole("region", { name: "Not staged" });
    await expectVisible(unstaged.getByText("c.txt"));
    await unstaged.getByText("d.bin").click();
    await expectVisible(page.getByText("Before: 3 B. Now: 4 B."));
    await unstaged.getByText("a.txt").click();
    await expectVisible(page.locator(".diff").getByText("three"));
    expect(await seriousFaults(page)).toEqual([]);

    await press(unstaged, "Discard b.txt");
    await page.getByRole("button", { name: "Discard", exact: true }).click();
    await eventually(() => workspace.read("b.txt")).toBe("b\n");
    await press(unstaged, "Discard c.txt");
    await page.getByRole("button", { name: "Discard", exact: true }).click();
    await eventually(() => workspace.read("c.txt")).toBeNull();

    await press(unstaged, "Stage a.txt");
    const staged = panel.getByRole("region", { name: "Staged", exact: true });
    await staged.getByText("a.txt").click();
    await expectVisible(page.getByText("a.txt: the last commit and staged"));
    await panel.getByRole("textbox", { name: "Commit message" }).fill("second");
    await page.keyboard.press("Control+Enter");
    // Git does not know who commits.
    await page.getByRole("textbox", { name: "Name <email>" }).fill("Ada <ada@localhost>");
    await page.keyboard.press("Enter");
    await expectGone(staged);
    await eventually(() => workspace.exec("git log -1 --format='%an %s' --name-only")).toBe("Ada second\n\na.txt\n");

    await panel.getByRole("button", { name: "Publish branch" }).click();
    await eventually(() => workspace.exec("git -C /tmp/bare.git log --format=%s main")).toBe("second\nfirst\n");
    await expectVisible(panel.getByRole("button", { name: "Push" }));

    await page.getByRole("button", { name: "Branch main" }).click();
    await page.getByRole("combobox").fill("feature/x");
    await page.keyboard.press("Enter");
    await expectVisible(page.getByRole("button", { name: "Branch feature/x" }));
    await workspace.exec("git add . && git commit -qm third; git switch -q main; echo mine > d.bin");
    await page.getByRole("button", { name: "Branch main" }).click();
    await page.getByRole("option", { name: "feature/x" }).click();
    await expectVisible(page.getByText("Your changes in d.bin would be lost"));
  });

  test("changed lines are marked, staged and reverted one by one, with the commits of the file and of the line", async () => {
    const text = "the first line\n\nin the middle\n\nthe last line\n";
    const workspace = await suite.emptiedWorkspace({ "a.txt": text });
    const { page } = workspace;
    await workspace.exec("git config --global user.name Ada; git config --global user.email ada@localhost");
    await workspace.exec("git init -q -b main && git add . && git commit -qm 'begin here'");
    await openFile(page, "a.txt");
    await typeAtStart(page, "really ");
    await page.keyboard.press("Control+End");
    await page.keyboard.type("added\n");
    const marks = page.locator(".cm-git-mark");
    await eventually(() => marks.count()).toBe(2);
    await expectVisible(page.getByRole("treeitem", { name: "a.txt" }).getByTitle("modified"));

    await page.locator(".cm-git-mark.changed").click();
    await expectVisible(page.locator(".cm-git-removed-lines").getByText("the first line"));
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "Stage this change" }).click();
    await eventually(() => workspace.exec("git show :a.txt")).toBe(`really ${text}`);
    await eventually(() => marks.count()).toBe(1);
    await page.keyboard.press("Alt+F3");
    await page.getByRole("button", { name: "Revert this change" }).click();
    await eventually(() => workspace.read("a.txt")).toBe(`really ${text}`);

    await runCommand(page, "Git: toggle the last commit");
    await editor(page).press("Control+End");
    await page.keyboard.press("ArrowUp");
    await expectVisible(page.locator(".cm-git-blame").getByText(/^Ada, .+ · begin here$/));
    await runCommand(page, "Git: history of this file");
    await page.getByRole("option", { name: "begin here" }).click();
    await expectVisible(page.getByText("a.txt: nothing and"));
  });
});
