import type { Browser, Page } from "playwright-core";
import { sessionRow } from "../../../server/store/testing/session-row.ts";
import { launchChromium } from "../../../tests/support/browser/workspace.ts";
import { machine } from "../../../tests/support/machine.ts";
import type { Berth } from "../../../tests/support/servers/berth.ts";
import { runCliForJson } from "../../../tests/support/servers/cli.ts";
import type { Benchmark } from "../../support/benchmark.ts";
import type { Row, Target } from "../../report/report.ts";
import { openServer } from "../../support/server.ts";
import { addSessionRows, openDatabase } from "../../support/session-rows.ts";

const SESSIONS = 10_000;

export const benchmark: Benchmark = {
  summary: `the longest pause of the console's page with ${SESSIONS} sessions in its table`,
  async run(run) {
    if (machine.chromium !== undefined) throw new Error(`This benchmark ${machine.chromium}.`);
    await using server = await openServer(run, { poolSize: 0, env: { BERTH_DRIVER: "process" } });
    const { berth } = server;
    await addSessionRows(berth, SESSIONS);
    const { token } = await runCliForJson<{ token: { token: string } }>(berth, "console", "token", "--name", "bench");
    const browser = await launchChromium();
    await using _ = run.resources.defer(() => browser.close());
    const pauses = new Map<string, Pause[]>();
    for (let round = -1; round < run.rounds(5, 1) && !run.isOver(); round++) {
      run.progress(`round ${round + 1}`);
      for (const [part, pause] of await visit(browser, berth, token.token)) {
        if (round >= 0) pauses.set(part, [...(pauses.get(part) ?? []), pause]);
      }
    }
    return [
      { title: `The longest task of the page's main thread, ${SESSIONS} sessions`, rows: rowsOf(pauses, "ms", []) },
      { title: "The processor time of the longest task", rows: rowsOf(pauses, "cpuMs", [{ of: "p99", atMost: 100 }]) },
    ];
  },
};

// The longest task of the main thread, by the clock and in processor time. They differ on a busy machine.
interface Pause {
  ms: number;
  cpuMs: number;
}

async function visit(browser: Browser, berth: Berth, token: string): Promise<[string, Pause][]> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const pauses: [string, Pause][] = [];
  const during = async (part: string, work: () => Promise<unknown>) => {
    await browser.startTracing(page, { categories: ["disabled-by-default-devtools.timeline"] });
    await work();
    pauses.push([part, longestTask(await browser.stopTracing())]);
  };
  const rows = page.locator(".table-row");
  await page.goto(`${berth.url}/console/sessions?status=all`);
  await page.getByLabel("Operator token").fill(token);
  await during("open the page", async () => {
    await page.getByRole("button", { name: "Sign in" }).click();
    await rows.first().waitFor();
  });
  await page.getByRole("grid").focus();
  await during("read all pages with End", async () => {
    while (!(await isComplete(page))) await page.keyboard.press("End");
  });
  await during("Home and End", async () => {
    for (let times = 0; times < 10; times++) await page.keyboard.press(times % 2 === 0 ? "Home" : "End");
  });
  await page.keyboard.press("Home");
  await page.mouse.move(640, 500);
  await during("scroll with the wheel", async () => {
    for (let turns = 0; turns < 60; turns++) await page.mouse.wheel(0, turns % 20 === 19 ? 60_000 : 600);
  });
  await page.keyboard.press("Home");
  const user = `new-${Date.now()}`;
  await during("new sessions appear", async () => {
    await insertNewest(berth, user, 20);
    await rows.filter({ hasText: user }).first().waitFor();
  });
  await during("type a filter", async () => {
    await page.getByRole("searchbox", { name: "Search" }).pressSequentially("user-4", { delay: 50 });
    await rows.filter({ hasText: user }).first().waitFor({ state: "detached" });
    await rows.filter({ hasText: "user-4" }).first().waitFor();
  });
  await context.close();
  return pauses;
}

const isComplete = async (page: Page): Promise<boolean> => !(await page.getByRole("status").textContent())?.includes("more");

async function insertNewest(berth: Berth, user: string, count: number): Promise<void> {
  await using store = await openDatabase(berth);
  const atMs = Date.now();
  const row = () =>
    sessionRow(atMs, { partner_id: "demo", external_user_id: user, state: "destroyed", expires_at: null, destroyed_at: atMs });
  await store.db
    .insertInto("sessions")
    .values(Array.from({ length: count }, row))
    .execute();
}

interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  dur?: number;
  tdur?: number;
  args: { name?: string };
}

// Times in a trace are microseconds.
function longestTask(trace: Buffer): Pause {
  const { traceEvents } = JSON.parse(String(trace)) as { traceEvents: TraceEvent[] };
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const isMain = ({ name, args }: TraceEvent) => name === "thread_name" && args.name === "CrRendererMain";
  const main = new Set(traceEvents.filter(isMain).map(threadOf));
  const tasks = traceEvents.filter((event) => event.name === "RunTask" && main.has(threadOf(event)));
  if (tasks.length === 0) throw new Error("The trace has no tasks of the page.");
  return { ms: Math.max(...tasks.map(({ dur = 0 }) => dur)) / 1000, cpuMs: Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1000 };
}

const rowsOf = (pauses: ReadonlyMap<string, Pause[]>, pick: keyof Pause, targets: readonly Target[]): Row[] =>
  [...pauses].map(([what, found]) => ({ what, unit: "ms", values: found.map((pause) => pause[pick]), targets }));
