import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { seriousFaults } from "../support/browser/axe.ts";
import { describeOnSharedServer } from "../support/browser/browser-suite.ts";
import { editor, eventually, expectVisible, openFile, tab, treeItem } from "../support/browser/workspace.ts";

const textIn = async (page: Page) => (await editor(page).locator(".cm-line").allTextContents()).join("\n");
const face = (page: Page, name: string) => page.getByRole("list", { name: "People in this workspace" }).getByRole("button", { name });

describeOnSharedServer("a workspace that several people have open", (suite) => {
  test("merges what they type at the same time, shows where they are, and lets a viewer look but not change anything", async () => {
    await using workspace = await suite.openWorkspace({ files: { "notes.txt": "first\n\nlast\n", "other.txt": "other\n" }, closed: true });
    const ada = workspace.page;
    await ada.goto(await workspace.link({ displayName: "Ada Lovelace" }));
    await openFile(ada, "notes.txt");
    const bob = await workspace.another({ displayName: "Bob" });
    await openFile(bob, "notes.txt");
    await expectVisible(face(ada, "Bob in notes.txt"));
    await expectVisible(face(bob, "Ada Lovelace"));

    // Both type in turn, without waiting for each other.
    await editor(ada).click();
    await ada.keyboard.press("Control+Home");
    await editor(bob).click();
    await bob.keyboard.press("Control+End");
    await Promise.all([ada.keyboard.type("from Ada ", { delay: 15 }), bob.keyboard.type("from Bob", { delay: 15 })]);
    const merged = "from Ada first\n\nlast\nfrom Bob";
    await eventually(() => textIn(ada)).toBe(merged);
    await eventually(() => textIn(bob)).toBe(merged);
    await eventually(() => workspace.read("notes.txt")).toBe(merged);
    await expectVisible(ada.locator('.cm-other-caret[data-name="Bob"]'));
    await expectVisible(tab(bob, "notes.txt").locator(".person-marks"));

    // Undo takes back only the person's own text.
    await bob.keyboard.press("Control+Z");
    await eventually(() => textIn(ada)).toContain("from Ada first");
    await eventually(() => textIn(ada)).not.toContain("from Bob");

    // A program changes the file. It appears once.
    await eventually(() => workspace.read("notes.txt")).not.toContain("from Bob");
    await workspace.exec("printf 'by a program\\n' >> notes.txt");
    await eventually(() => textIn(ada)).toContain("by a program");
    await eventually(() => textIn(bob)).toContain("by a program");
    await eventually(async () => [await textIn(ada), await textIn(bob)].map((text) => text.split("by a program").length)).toEqual([2, 2]);

    const viewer = await workspace.another({ role: "viewer", displayName: "Support" }, { hasTouch: true });
    await expectVisible(viewer.getByText("View only"));
    await expectVisible(face(ada, "Support (viewing)"));
    // Follows Ada, who types.
    await face(viewer, "Ada Lovelace").click();
    await expectVisible(tab(viewer, "notes.txt"));
    await ada.keyboard.type("live ");
    await eventually(() => textIn(viewer)).toContain("live ");
    await editor(viewer).click();
    await viewer.keyboard.type("not allowed");
    await viewer.keyboard.press("Control+Shift+P");
    await viewer.getByRole("combobox").fill(">new file");
    expect(await viewer.getByRole("option", { name: "New file" }).count()).toBe(0);
    await viewer.keyboard.press("Escape");
    await treeItem(viewer, "other.txt").click();
    await viewer.keyboard.press("Delete");
    expect(await viewer.getByRole("dialog").count()).toBe(0);
    expect(await textIn(ada)).not.toContain("not allowed");
    expect(await workspace.read("other.txt")).toBe("other\n");
    expect(await seriousFaults(viewer)).toEqual([]);

    // The top bar of a phone has room for the logo, too.
    await viewer.setViewportSize({ width: 375, height: 667 });
    const [logo, go] = [viewer.locator(".top-bar .mark"), viewer.getByRole("button", { name: "Go to file" })];
    await eventually(async () => {
      const [left, right] = [(await logo.boundingBox())!, (await go.boundingBox())!];
      return left.width === 20 && left.x + left.width <= right.x;
    }).toBe(true);
  });
});
