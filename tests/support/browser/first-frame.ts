import type { Page } from "playwright-core";

// Resolves at the first frame that shows an element. A locator would look again after pauses of up to half a second.
export async function firstFrameWith(page: Page, selector: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const look = () => (document.querySelector(${JSON.stringify(selector)})?.checkVisibility() ? resolve() : requestAnimationFrame(look));
    look();
  })`);
}
