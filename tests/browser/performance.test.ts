import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { EDITOR, editor, newWorkspacePage, openFile, screenText, treeItem, typeInTerminal } from "../support/browser/workspace.ts";
import { describeOnSharedServer } from "../support/browser/browser-suite.ts";
import { firstFrameWith } from "../support/browser/first-frame.ts";
import { measureMainThread } from "../support/browser/main-thread.ts";

// Counts work instead of time, which depends on what else the machine does. `npm run bench -- workspace` measures the time.
const ANSWER_CPU_MS = 1000;

describeOnSharedServer("the work of the workspace's page", (suite) => {
  test("the first editor takes at most 0.8 s of processor time, 60 requests and 550 kB", async () => {
    const workspace = await suite.sharedWorkspace({ "README.md": "# Hello\n" });
    // A first visit: the cache is empty.
    const page = await newWorkspacePage(suite.browser);
    const devTools = await page.context().newCDPSession(page);
    const visit = { cpuMs: 0, requests: 0, bytes: 0 };
    devTools.on("Network.requestWillBeSent", () => visit.requests++);
    devTools.on("Network.dataReceived", ({ encodedDataLength }) => (visit.bytes += encodedDataLength));
    await devTools.send("Network.enable");
    const usedMs = await measureMainThread(page);
    await page.goto(await workspace.link(), { waitUntil: "commit" });
    await firstFrameWith(page, EDITOR);
    visit.cpuMs = Math.round(await usedMs());
    await page.context().close();
    console.log("the first editor took", visit);
    expect([visit.cpuMs > 10, visit.requests > 10, visit.bytes > 100_000]).toEqual([true, true, true]);
    expect(visit.cpuMs).toBeLessThan(800);
    expect(visit.requests).toBeLessThanOrEqual(60);
    expect(visit.bytes).toBeLessThan(550_000);
  });

  test("opening a file asks for nothing that does not exist", async () => {
    const files = { "README.md": "# Hello\n", "deep/down/tracked.txt": "one\n" };
    await using workspace = await suite.openWorkspace({ files, closed: true });
    await workspace.exec("git init -q && git add . && git -c user.name=a -c user.email=a@b.c commit -qm one");
    await workspace.write("deep/new.txt", "two\n");
    const { page } = workspace;
    const missing: string[] = [];
    page.on("response", (response) => void (response.status() === 404 && missing.push(response.url())));
    const stagedText = () => page.waitForResponse(/git\/content\?path=deep%2Fdown%2Ftracked\.txt/);
    const open = async (name: string) => {
      await page.keyboard.press("Control+P");
      await page.keyboard.type(name);
      await page.getByRole("option", { name }).waitFor();
      await page.keyboard.press("Enter");
      await editor(page).and(page.getByLabel(name)).waitFor();
    };
    await page.goto(await workspace.link());
    await page.getByRole("button", { name: /^Branch/ }).waitFor();
    await open("new.txt");
    await Promise.all([stagedText(), open("tracked.txt")]);
    await Promise.all([stagedText(), page.reload()]);
    expect(missing).toEqual([]);
  });

  test("typing in a line of 1 MB is not much slower than in a short one", async () => {
    const { page } = await suite.sharedWorkspace({
      "short.json": '{"k":"v"}',
      "long.json": `{"a":[${'{"k":"v","n":12},'.repeat(60_000)}0]}`,
    });
    const keyMs = async (name: string) => {
      await openFile(page, name);
      await page.keyboard.press("Control+Home");
      const press = async () => {
        await page.keyboard.press("x");
        await page.evaluate(NEXT_FRAME);
      };
      return medianWork(
        page,
        Array.from({ length: 15 }, () => press),
      );
    };
    const [shortMs, longMs] = [await keyMs("short.json"), await keyMs("long.json")];
    console.log(`a key takes ${Math.round(shortMs)} ms in a short line and ${Math.round(longMs)} ms in a long one`);
    expect(longMs).toBeLessThan(2 * shortMs + 15);
  });

  test("8 MB of output neither freeze the page nor grow the daemon", async () => {
    const workspace = await suite.sharedWorkspace();
    const { page } = workspace;
    // The peak resident memory, including the executable that all daemons on the machine share.
    const peakMb = async () => {
      const status = await workspace.exec("cat /proc/$(pgrep -f daemon.cjs | head -1)/status");
      return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? Infinity) / 1024;
    };
    await workspace.exec("yes 0123456789012345678901234567890123456789 | head -c 8000000 > big.txt");
    const beforeMb = await peakMb();
    // The page must respond during the output, which goes on until it has.
    await typeInTerminal(page, "cat big.txt; until [ -e answered ]; do cat big.txt; done; echo finished-$((1+1))\n");
    const show = (panel: string) => async () => {
      await page.getByRole("button", { name: panel, exact: true }).click();
      await (panel === "Search" ? page.getByRole("textbox", { name: "Search in files" }) : treeItem(page, "big.txt")).waitFor();
    };
    const answerMs = await medianWork(page, ["Search", "Files", "Search", "Files", "Search"].map(show));
    await workspace.exec("touch answered");
    console.log(`the page worked for ${Math.round(answerMs)} ms until it answered a click during the output`);
    expect(answerMs).toBeLessThan(ANSWER_CPU_MS);
    await expect.poll(() => screenText(page), { timeout: 60_000 }).toContain("finished-2");
    const afterMb = await peakMb();
    console.log(`peak memory of the daemon: ${beforeMb.toFixed(1)} MB before and ${afterMb.toFixed(1)} MB after the output`);
    expect(afterMb).toBeLessThan(60);
    expect(afterMb - beforeMb).toBeLessThan(5);
  }, 90_000);
});

const NEXT_FRAME = "new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))";

// The median of the processor time that the page's main thread uses while each action runs, in milliseconds.
async function medianWork(page: Page, actions: (() => Promise<unknown>)[]): Promise<number> {
  const usedMs = await measureMainThread(page);
  const timesMs: number[] = [];
  for (const act of actions) {
    const beforeMs = await usedMs();
    await act();
    timesMs.push((await usedMs()) - beforeMs);
  }
  return timesMs.toSorted((a, b) => a - b)[timesMs.length >> 1] ?? Infinity;
}
