import { expect, test } from "vitest";
import { editor, eventually, openFile, screenText, treeItem, typeInTerminal } from "../support/browser/workspace.ts";
import { untilQuiet } from "../support/run/quiet.ts";
import { describeInBrowser } from "../support/browser/browser-suite.ts";

const FIRST_EDITOR_MS = 1000;
const MAX_VISITS = 10;
const ANSWER_MS = 2000;

describeInBrowser("performance of the workspace", (suite) => {
  test("the first editor is visible within a second of opening the launch URL", async () => {
    const workspace = await suite.sharedWorkspace({ "README.md": "# Hello\n" });
    const visitsMs: number[] = [];
    let quiet = true;
    // A busy machine only adds to a visit, so the fastest one shows what the workspace itself needs.
    while (visitsMs.length < MAX_VISITS && !visitsMs.some((ms) => ms < FIRST_EDITOR_MS)) {
      const link = await workspace.link();
      // A first visit: the cache is empty.
      const page = await (await suite.browser.newContext()).newPage();
      quiet = (await untilQuiet()) && quiet;
      const startedMs = performance.now();
      await page.goto(link, { waitUntil: "commit" });
      await editor(page).waitFor();
      visitsMs.push(performance.now() - startedMs);
      await page.context().close();
    }
    console.log(`first editor after ${visitsMs.map(Math.round).join(", ")} ms${quiet ? "" : " on a busy machine"}`);
    expect(Math.min(...visitsMs)).toBeLessThan(FIRST_EDITOR_MS);
  });

  test("typing in a line of 1 MB is not much slower than in a short one", async () => {
    const { page } = await suite.sharedWorkspace({
      "short.json": '{"k":"v"}',
      "long.json": `{"a":[${'{"k":"v","n":12},'.repeat(60_000)}0]}`,
    });
    const keyMs = async (name: string) => {
      await openFile(page, name);
      await page.keyboard.press("Control+Home");
      await untilQuiet();
      const timesMs = await page.evaluateHandle<number[]>(MEASURE_KEYS);
      for (let key = 0; key < 15; key++) await page.keyboard.press("x");
      await eventually(() => timesMs.evaluate((times) => times.length)).toBe(15);
      return median(await timesMs.jsonValue()) ?? Infinity;
    };
    const [shortMs, longMs] = [await keyMs("short.json"), await keyMs("long.json")];
    console.log(`a key takes ${Math.round(shortMs)} ms in a short line and ${Math.round(longMs)} ms in a long one`);
    expect(longMs).toBeLessThan(2 * shortMs + 15);
  });

  test("32 MB of output neither freeze the page nor grow the daemon", async () => {
    const workspace = await suite.sharedWorkspace();
    const { page } = workspace;
    await workspace.exec("yes 0123456789012345678901234567890123456789 | head -c 32000000 > big.txt");
    await typeInTerminal(page, "cat big.txt; echo finished-$((1+1))\n");
    // The page must respond during the output. The median tolerates stalls of a busy machine.
    const answersMs: number[] = [];
    for (const panel of ["Search", "Files", "Search", "Files", "Search"]) {
      const startedMs = performance.now();
      await page.getByRole("button", { name: panel, exact: true }).click();
      await (panel === "Search" ? page.getByRole("textbox", { name: "Search in files" }) : treeItem(page, "big.txt")).waitFor();
      answersMs.push(performance.now() - startedMs);
    }
    expect(await screenText(page)).not.toContain("finished-2");
    console.log(`clicks during the output took ${answersMs.map(Math.round).join(", ")} ms`);
    expect(median(answersMs)).toBeLessThan(ANSWER_MS);
    await expect.poll(() => screenText(page), { timeout: 60_000 }).toContain("finished-2");
    // The peak resident memory, including the executable that all daemons on the machine share.
    const status = await workspace.exec("cat /proc/$(pgrep -f daemon.cjs | head -1)/status");
    const peakMb = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? Infinity) / 1024;
    console.log(`peak memory of the daemon: ${peakMb.toFixed(1)} MB`);
    expect(peakMb).toBeLessThan(60);
  }, 90_000);
});

// The times from the next keys to the frames that show them.
const MEASURE_KEYS = `(() => {
  const times = [];
  addEventListener("keydown", ({ timeStamp }) => requestAnimationFrame(() => setTimeout(() => times.push(performance.now() - timeStamp))), true);
  return times;
})()`;

const median = (times: number[]) => times.toSorted((a, b) => a - b)[times.length >> 1];
