import { expect, test } from "vitest";
import { editor, eventually, openFile, screenText, seen, treeItem, typeInTerminal } from "../support/browser.ts";
import { watchMainThread } from "../support/main-thread.ts";
import { inBrowser } from "../support/stage.ts";

const FIRST_EDITOR_MS = 1000;
// The page's own work until then, measured at 250 to 400 ms: neighbours cannot make it wait, but empty its caches.
const FIRST_EDITOR_CPU_MS = 700;
// The machine is not ours alone: of some visits the best counts, the one least disturbed, and what the page's main thread
// waited while another program had its core is not the page's. On a quiet machine that is nothing.
const VISITS = 5;
const ANSWER_MS = 2000;

inBrowser("how the workspace bears load", (stage) => {
  test("the first editor is visible within a second of opening the link", async () => {
    await using desk = await stage.openDesk({ files: { "README.md": "# Hello\n" } });
    await seen(editor(desk.page));
    const visits: { tookMs: number; waitedMs: number; cpuMs: number }[] = [];
    for (let visit = 0; visit < VISITS; visit++) {
      const link = await desk.link();
      // A browser that has never been here.
      const page = await (await stage.browser.newContext()).newPage();
      const work = await watchMainThread(page);
      const startedMs = performance.now();
      await page.goto(link, { waitUntil: "commit" });
      await editor(page).waitFor();
      visits.push({ tookMs: performance.now() - startedMs, ...(await work()) });
      await page.context().close();
    }
    const told = visits.map((visit) => `${Math.round(visit.tookMs)} (${Math.round(visit.waitedMs)}, ${Math.round(visit.cpuMs)})`);
    console.log(`first editor after ${told.join(", ")} ms (of which waiting for a core, and working)`);
    expect(Math.min(...visits.map(({ tookMs, waitedMs }) => tookMs - waitedMs))).toBeLessThan(FIRST_EDITOR_MS);
    expect(Math.min(...visits.map(({ cpuMs }) => cpuMs))).toBeLessThan(FIRST_EDITOR_CPU_MS);
  });

  test("a file of 5 MB opens, is edited and saved", async () => {
    const line = "the quick brown fox jumps over the lazy dog, again and again\n";
    const text = line.repeat(Math.ceil((5 * 1024 * 1024) / line.length));
    await using desk = await stage.openDesk({ files: { "big.txt": text } });
    const { page } = desk;
    await openFile(page, "big.txt");
    await editor(page).click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("x");
    await page.keyboard.press("Control+S");
    await eventually(async () => (await desk.read("big.txt"))?.length).toBe(text.length + 1);
  });

  test("what is not text, or too large, is offered for download", async () => {
    const files = { "binary.bin": Uint8Array.of(0, 1, 2, 255), "huge.log": new Uint8Array(21 * 1024 * 1024).fill(65) };
    await using desk = await stage.openDesk({ files });
    const { page } = desk;
    await page.getByRole("treeitem", { name: "binary.bin" }).click();
    await seen(page.getByText("It is not a text file"));
    await page.getByRole("treeitem", { name: "huge.log" }).click();
    await seen(page.getByText("too large for the editor"));
    expect(await page.getByRole("link", { name: "Download" }).getAttribute("href")).toContain("huge.log");
  });

  test("100 MB of output neither freeze the page nor make the daemon grow", async () => {
    await using desk = await stage.openDesk({ files: { "README.md": "# Hello\n" } });
    const { page } = desk;
    await desk.exec("yes 0123456789012345678901234567890123456789 | head -c 100000000 > big.txt");
    await typeInTerminal(page, "cat big.txt; echo finished-$((1+1))\n");
    // While the output runs the page still answers: half of the clicks at once, whatever else the machine does.
    const answersMs: number[] = [];
    for (const panel of ["Search", "Files", "Search", "Files", "Search"]) {
      const startedMs = performance.now();
      await page.getByRole("button", { name: panel, exact: true }).click();
      await (panel === "Search" ? page.getByRole("textbox", { name: "Search in files" }) : treeItem(page, "big.txt")).waitFor();
      answersMs.push(performance.now() - startedMs);
    }
    expect(await screenText(page)).not.toContain("finished-2");
    console.log(`clicks during the output answered after ${answersMs.map(Math.round).join(", ")} ms`);
    expect(answersMs.toSorted((a, b) => a - b)[2]).toBeLessThan(ANSWER_MS);
    await expect.poll(() => screenText(page), { timeout: 60_000 }).toContain("finished-2");
    // Everything resident, at the worst moment of its life, with the program's file that all daemons of the machine share.
    const status = await desk.exec("cat /proc/$(pgrep -f daemon.cjs | head -1)/status");
    const peakMb = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? Infinity) / 1024;
    console.log(`the daemon's memory at its peak: ${peakMb.toFixed(1)} MB`);
    expect(peakMb).toBeLessThan(60);
  }, 90_000);
});
