import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { measureMainThread } from "../../../tests/support/browser/main-thread.ts";
import { launchChromium } from "../../../tests/support/browser/workspace.ts";
import { machine } from "../../../tests/support/machine.ts";
import type { Row, Target } from "../../report/report.ts";
import type { Benchmark } from "../../support/benchmark.ts";
import { openServer } from "../../support/server.ts";

const FOLDERS = ["f1", "f2", "f3", "f4", "f5"];
const FILES = 10_000;
const TARGET_MS = 50;
const NO_INPUT = "no input";
// Everything that an input causes ends sooner, except a save.
const SETTLE_MS = 1_200;
// Autosave starts a second after the last key. The page then shows the saved state and the changes of the file.
const BEFORE_AUTOSAVE_MS = 800;
const AUTOSAVE_MS = 1_800;
// Chromium's memory reducer collects garbage 30.1 s after a page has loaded, whatever the user does. The first input waits for that.
const MEMORY_REDUCER_MS = 35_000;

export const benchmark: Benchmark = {
  summary: `the work of the page's main thread for each input, with ${FOLDERS.length * FILES} files in the tree`,
  async run(run) {
    if (machine.chromium !== undefined) throw new Error(`This benchmark ${machine.chromium}.`);
    await using server = await openServer(run, { poolSize: 0 });
    const { caller } = server;
    const { sessionId, sandboxId } = await caller.create();
    await caller.exec(sandboxId, `for f in ${FOLDERS.join(" ")}; do mkdir $f; (cd $f; seq -f %05g.txt ${FILES} | xargs touch); done`);
    await caller.exec(sandboxId, "for n in a b c d; do echo $n > $n.txt; done");
    const browser = await launchChromium();
    await using _ = run.resources.defer(() => browser.close());
    const times = new Map<string, number[]>();
    for (let round = -1; round < run.rounds(5, 1) && !run.isOver(); round++) {
      run.progress(`round ${round + 1}`);
      const { url } = JSON.parse(await caller.call("POST", `/api/b2b/sessions/${sessionId}/launch-url`, 200)) as { url: string };
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
      const page = await context.newPage();
      await page.goto(url);
      const waitMs = run.isShort || round < 0 ? 2 * SETTLE_MS : MEMORY_REDUCER_MS;
      for await (const [input, ms] of use(page, waitMs)) if (round >= 0) times.set(input, [...(times.get(input) ?? []), ms]);
      await context.close();
    }
    const targetsOf = (what: string): Target[] => (what === NO_INPUT ? [] : [{ of: "p99", atMost: TARGET_MS }]);
    const rows: Row[] = [...times].map(([what, values]) => ({ what, unit: "ms", values, targets: targetsOf(what) }));
    return [{ title: `Processor time of the page's main thread for one input, ${FOLDERS.length * FILES} files`, rows }];
  },
};

// Every input is measured with everything that it causes, such as the server's response and rendering. The save after a key has its own row.
// The mouse is used directly, because a locator's own checks run in the page too.
async function* use(page: Page, waitMs: number): AsyncGenerator<[string, number]> {
  const during = await createMeter(page);
  const item = (name: string) => page.getByRole("treeitem", { name, exact: true });
  const key = (name: string) => () => page.keyboard.press(name);
  const clickOn = async (name: string) => {
    const box = await item(name).boundingBox();
    if (!box) throw new Error(`${name} is not on the screen.`);
    return during(() => page.mouse.click(box.x + 60, box.y + box.height / 2));
  };
  await item("a.txt").click();
  await page.locator(".text-editor .cm-content").waitFor();
  await sleep(waitMs);
  yield [NO_INPUT, await during(async () => {})];
  for (const folder of FOLDERS.toReversed()) yield ["open a folder", await clickOn(folder)];
  yield ["collapse a folder", await clickOn("f1")];
  yield ["expand it again", await clickOn("f1")];
  yield ["arrow key", await during(key("ArrowDown"))];
  yield ["Page Down", await during(key("PageDown"))];
  yield ["End", await during(key("End"))];
  yield ["Home", await during(key("Home"))];
  yield ["select all rows with Shift+End", await during(key("Shift+End"))];
  yield ["select all rows with Shift+Home", await during(key("Shift+Home"))];
  yield ["select all rows with Ctrl+A", await during(key("ControlOrMeta+a"))];
  await page.mouse.move(120, 400);
  yield ["a turn of the wheel", await during(() => page.mouse.wheel(0, 600))];
  await page.getByRole("tree").press("End");
  await sleep(SETTLE_MS);
  for (const name of ["b.txt", "c.txt"]) yield ["show a file for the first time", await clickOn(name)];
  yield ["show a file that has a tab", await clickOn("b.txt")];
  await page.locator(".text-editor .cm-content").first().click();
  await sleep(SETTLE_MS);
  for (const letter of "xyz") {
    yield ["a key in the editor", await during(key(letter), BEFORE_AUTOSAVE_MS)];
    yield ["the save after it", await during(async () => {}, AUTOSAVE_MS)];
  }
  yield ["open the palette", await during(key("ControlOrMeta+p"))];
  for (const letter of "f1/0") yield ["a letter in the palette", await during(key(letter))];
  yield ["close the palette", await during(key("Escape"))];
}

async function createMeter(page: Page): Promise<(input: () => Promise<unknown>, settleMs?: number) => Promise<number>> {
  const usedMs = await measureMainThread(page);
  return async (input, settleMs = SETTLE_MS) => {
    const before = await usedMs();
    await input();
    await sleep(settleMs);
    return (await usedMs()) - before;
  };
}
