import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { seriousFaults } from "../support/browser/axe.ts";
import { describeOnSharedServer } from "../support/browser/browser-suite.ts";
import { expectVisible } from "../support/browser/workspace.ts";

describeOnSharedServer("the documentation in a browser", (suite) => {
  // Records what the browser refuses, and requests to other hosts.
  async function openDocs(path: string, options: { phone?: boolean } = {}) {
    const context = await suite.browser.newContext(
      options.phone
        ? { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true }
        : { permissions: ["clipboard-read", "clipboard-write"] },
    );
    const page = await context.newPage();
    const faults: string[] = [];
    page.on("console", (message) => void (message.type() === "error" && faults.push(message.text())));
    page.on("pageerror", (error) => void faults.push(String(error)));
    page.on("request", (request) => void (request.url().startsWith(suite.berth.url) || faults.push(request.url())));
    await page.goto(`${suite.berth.url}${path}`);
    return { page, faults, [Symbol.asyncDispose]: () => context.close() };
  }
  const themeOf = (page: Page) => page.locator("html").getAttribute("data-theme");

  test("a reader finds a page by search, chooses a language and a theme, and keeps both", async () => {
    await using docs = await openDocs("/docs");
    const { page, faults } = docs;
    expect(await seriousFaults(page)).toEqual([]);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("session_not_found");
    await expectVisible(page.getByRole("option").first());
    expect(await seriousFaults(page, "#search")).toEqual([]);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/docs\/(errors|troubleshooting)/);

    await page.goto(`${suite.berth.url}/docs/partner-api`);
    const sample = page.locator(".tabs").first();
    const tab = (name: string) => sample.getByRole("tab", { name });
    await tab("TypeScript").focus();
    await page.keyboard.press("ArrowRight");
    expect(await tab("Python").getAttribute("aria-selected")).toBe("true");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Python");
    const panel = sample.getByRole("tabpanel");
    expect(await panel.getAttribute("data-language")).toBe("python");
    await panel.getByRole("button", { name: "Copy" }).click();
    const code = await panel.locator("pre").textContent();
    await expect.poll(() => page.evaluate("navigator.clipboard.readText()")).toBe(code);

    const before = await themeOf(page);
    await page.getByRole("button", { name: "Dark theme" }).click();
    const chosen = await themeOf(page);
    expect(chosen).not.toBe(before);
    expect(await seriousFaults(page, ".tabs:first-of-type")).toEqual([]);
    await page.reload();
    expect(await themeOf(page)).toBe(chosen);
    expect(await tab("Python").getAttribute("aria-selected")).toBe("true");
    await page.goto(`${suite.berth.url}/docs/api`);
    expect(await themeOf(page)).toBe(chosen);
    expect(faults).toEqual([]);
  });

  test("a phone has the navigation behind a button, and nothing is wider than its screen", async () => {
    await using docs = await openDocs("/docs/configuration", { phone: true });
    const { page, faults } = docs;
    const navigation = page.getByRole("navigation", { name: "Documentation" });
    expect(await navigation.count()).toBe(0);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    await page.getByRole("button", { name: "Navigation" }).tap();
    expect(await seriousFaults(page, ".navigation")).toEqual([]);
    expect(await seriousFaults(page, ".bar")).toEqual([]);
    await navigation.getByRole("link", { name: "Errors" }).tap();
    await page.waitForURL(/\/docs\/errors$/);
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Errors");
    await page.goto(`${suite.berth.url}/docs/api`);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    expect(faults).toEqual([]);
  });
});
