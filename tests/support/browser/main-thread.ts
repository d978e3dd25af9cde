import type { Page } from "playwright-core";

// Measures the processor time that the main thread of a page uses, which hardly depends on what else the machine does.
export async function measureMainThread(page: Page): Promise<() => Promise<number>> {
  const devTools = await page.context().newCDPSession(page);
  await devTools.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await devTools.send("Performance.getMetrics");
    const found = metrics.find(({ name }) => name === "TaskDuration");
    if (!found) throw new Error("The browser does not measure its tasks.");
    return found.value * 1000;
  };
}
