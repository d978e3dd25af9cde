import { join } from "node:path";
import type { Browser } from "playwright-core";

// The pictures of the documentation: a guide in the light theme, and search in the dark one.
export async function takeDocsPictures(url: string, browser: Browser, folder: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, colorScheme });
    await page.goto(`${url}/docs/partner-api`);
    if (colorScheme === "dark") {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("pause a session");
      await page.getByRole("option").first().waitFor();
    }
    await page.screenshot({ path: join(folder, `docs-${colorScheme}.png`) });
    await page.close();
  }
}
