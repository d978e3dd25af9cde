import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { BrowserSuite } from "./browser-suite.ts";
import { expectVisible } from "./workspace.ts";

export interface OpenedConsole extends AsyncDisposable {
  page: Page;
}

// Opens a page of the console in a context of its own. Faults of the page fail the test.
export async function openConsole(
  { berth, browser }: BrowserSuite,
  path: string,
  options: BrowserContextOptions = {},
): Promise<OpenedConsole> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("dialog", (dialog) => faults.push(dialog.message()));
  await page.goto(berth.url + path);
  return {
    page,
    async [Symbol.asyncDispose]() {
      await context.close();
      expect(faults).toEqual([]);
    },
  };
}

export async function signIn(page: Page, label: string, secret: string): Promise<void> {
  await page.getByLabel(label).fill(secret);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expectVisible(page.getByRole("navigation", { name: "Pages" }));
}

const MAX_TABS = 80;

// Moves the focus there with the Tab key.
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await expectVisible(target);
  for (let tabs = 0; tabs < MAX_TABS; tabs++) {
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`The Tab key does not reach ${String(target)}`);
}
