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

  test("a merge conflict is coloured, resolved with the mouse or the keyboard, and staged only as it is meant", async () => {
    const middle = "a\nb\nc\nd\ne\n";
    const workspace = await suite.emptiedWorkspace({ "a.txt": `one\n${middle}two\n` });
    const { page } = workspace;
    const commit = "git commit -qam";
    await workspace.exec("git init -q -b main && git config user.name t && git config user.email t@localhost");
    await workspace.exec(`git add . && ${commit} base && git switch -qc other`);
    await workspace.write("a.txt", `their one\n${middle}their two\n`);
    await workspace.exec(`${commit} theirs && git switch -q main`);
    await workspace.write("a.txt", `my one\n${middle}my two\n`);
    await workspace.exec(`${commit} mine; git merge other; true`);
    await page.getByRole("button", { name: "Changes", exact: true }).click();
    const listed = page.getByRole("region", { name: "Merge conflicts" });
    await expectVisible(listed.getByText("a.txt"));
    // A row has the same height in whatever order its styles were loaded.
    for (const last of ["panels", "changes-panel"]) {
      await page.evaluate(`document.head.append(document.querySelector('link[rel="stylesheet"][href*="/${last}-"]'))`);
      expect((await listed.locator(".git-row").boundingBox())?.height).toBe(26);
    }

    await listed.getByText("a.txt").click();
    const conflict = (place: string) => page.getByRole("group", { name: `Conflict ${place}` });
    await expectVisible(conflict("1 of 2"));
    await expectVisible(page.locator(".cm-conflict-incoming").getByText("their one"));
    expect(await seriousFaults(page)).toEqual([]);
    await press(listed, "Stage a.txt");
    await expectVisible(page.getByRole("heading", { name: "Stage a.txt with conflicts?" }));
    await page.keyboard.press("Escape");

    await conflict("1 of 2").getByRole("button", { name: "Accept current change" }).click();
    await expectVisible(conflict("1 of 1"));
    await page.keyboard.press("Control+Z");
    await expectVisible(conflict("2 of 2"));
    await page.keyboard.press("Control+Home");
    await runCommand(page, "Merge: accept incoming change");
    await expectGone(conflict("2 of 2"));
    await runCommand(page, "Merge: accept both changes");
    await expectGone(page.locator(".cm-conflict-marker"));
    // A part that was accepted a moment ago is staged, although autosave has not written it yet.
    await press(listed, "Stage a.txt");
    await eventually(() => workspace.exec("git show :0:a.txt")).toBe(`their one\n${middle}my two\ntheir two\n`);
    await expectGone(listed);
  });
});
