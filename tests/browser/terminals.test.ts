import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startBerth, type Berth } from "../support/berth.ts";
import {
  editor,
  eventually,
  launchChromium,
  noChromium,
  openDesk,
  openFile,
  screenText,
  seen,
  tab,
  treeItem,
  typeInTerminal,
} from "../support/browser.ts";

describe.skipIf(noChromium)("terminals in the workspace (needs Chromium)", () => {
  let berth: Berth;
  let browser: Browser;

  beforeAll(async () => {
    [berth, browser] = await Promise.all([startBerth(), launchChromium()]);
  });
  afterAll(async () => {
    await browser?.close();
    await berth?.[Symbol.asyncDispose]();
  });

  test("a command runs and its output is seen", async () => {
    await using desk = await openDesk(berth, browser);
    await typeInTerminal(desk.page, "echo sum-$((20+22))\n");
    await eventually(() => screenText(desk.page)).toContain("sum-42");
  });

  test("a file changed in the terminal is followed by the editor and the tree", async () => {
    await using desk = await openDesk(berth, browser, { files: { "a.txt": "before\n" } });
    const { page } = desk;
    await openFile(page, "a.txt");
    await typeInTerminal(page, "echo changed-in-terminal > a.txt; touch new.txt\n");
    await eventually(() => editor(page).innerText()).toContain("changed-in-terminal");
    await seen(treeItem(page, "new.txt"));
  });

  test("after a reload tabs and terminal are as they were", async () => {
    await using desk = await openDesk(berth, browser, { files: { "a.txt": "a\n", "b.txt": "b\n" } });
    const { page } = desk;
    await openFile(page, "a.txt");
    await openFile(page, "b.txt");
    await typeInTerminal(page, "export KEPT=yes; echo remember-$KEPT\n");
    await eventually(() => screenText(page)).toContain("remember-yes");
    await page.reload();
    await seen(tab(page, "a.txt"));
    expect(await tab(page, "b.txt").getAttribute("aria-selected")).toBe("true");
    await eventually(() => screenText(page)).toContain("remember-yes");
    await typeInTerminal(page, "echo still-$KEPT\n");
    await eventually(() => screenText(page)).toContain("still-yes");
  });

  test("terminals are opened, split, renamed and closed", async () => {
    await using desk = await openDesk(berth, browser);
    const { page } = desk;
    const tabs = page.getByRole("tablist", { name: "Terminals" }).getByRole("tab");
    await eventually(() => tabs.count()).toBe(1);
    await page.getByRole("button", { name: "New terminal" }).click();
    await eventually(() => tabs.count()).toBe(2);
    await page.getByRole("button", { name: "Split terminal" }).click();
    await eventually(() => page.locator(".terminal-view").count()).toBe(2);
    await tabs.first().dblclick();
    await page.getByRole("textbox", { name: "Name" }).fill("builder");
    await page.getByRole("button", { name: "Rename" }).click();
    await seen(page.getByRole("tab", { name: "builder" }));
    await page.getByTitle("Close builder").click();
    await eventually(() => tabs.count()).toBe(1);
  });

  test("a program that ends leaves its exit status", async () => {
    await using desk = await openDesk(berth, browser);
    await typeInTerminal(desk.page, "exit 7\n");
    await seen(desk.page.getByText("The program ended (exit 7)."));
  });

  test("two people share a terminal", async () => {
    await using desk = await openDesk(berth, browser);
    await typeInTerminal(desk.page, "echo from-the-first\n");
    const other = await desk.another();
    await eventually(() => screenText(other)).toContain("from-the-first");
    await typeInTerminal(other, "echo from-the-second\n");
    await eventually(() => screenText(desk.page)).toContain("from-the-second");
  });
});
