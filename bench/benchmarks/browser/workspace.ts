import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { firstFrameWith } from "../../../tests/support/browser/first-frame.ts";
import { EDITOR, launchChromium } from "../../../tests/support/browser/workspace.ts";
import { machine } from "../../../tests/support/machine.ts";
import { onPath } from "../../../tests/support/on-path.ts";
import { freePort } from "../../../tests/support/servers/port.ts";
import type { Benchmark, Run } from "../../support/benchmark.ts";
import type { Row } from "../../report/report.ts";
import { openServer } from "../../support/server.ts";

export const benchmark: Benchmark = {
  summary: "from opening the page to the first editor, the bytes that were loaded, and the JavaScript heap",
  async run(run) {
    if (machine.chromium !== undefined) throw new Error(`This benchmark ${machine.chromium}.`);
    await using server = await openServer(run, { poolSize: 0 });
    const { caller } = server;
    const { sessionId, sandboxId } = await caller.create();
    await caller.exec(sandboxId, "echo '# Hello' > README.md");
    const link = async () => {
      const answer = await caller.call("POST", `/api/b2b/sessions/${sessionId}/launch-url`, 200);
      return (JSON.parse(answer) as { url: string }).url;
    };
    const pages: Page[] = [{ name: "Berth", url: link, editor: EDITOR }];
    const codeServer = await startCodeServer(run);
    if (codeServer) pages.push(codeServer);
    const browser = await launchChromium();
    await using _ = run.resources.defer(() => browser.close());
    const visits = new Map(pages.map(({ name }) => [name, [] as Visit[]]));
    for (let round = -1; round < run.rounds(15, 3); round++)
      for (const page of pages) {
        const visit = await visitOnce(browser, page);
        if (round >= 0) visits.get(page.name)!.push(visit);
      }
    return [{ title: "A first visit to the workspace", rows: [...visits].flatMap(([name, found]) => rowsOf(name, found)) }];
  },
};

interface Page {
  name: string;
  url: () => Promise<string>;
  // The selector of the text in an open editor.
  editor: string;
}

interface Visit {
  firstEditorMs: number;
  loadedKb: number;
  heapMb: number;
}

const SETTLE_MS = 500;
const POLL_MS = 100;

// Uses a new browser context, so that nothing is cached.
async function visitOnce(browser: Browser, { url, editor }: Page): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const devTools = await context.newCDPSession(page);
  let loadedBytes = 0;
  devTools.on("Network.loadingFinished", ({ encodedDataLength }) => (loadedBytes += encodedDataLength));
  await devTools.send("Network.enable");
  const address = await url();
  const startedMs = performance.now();
  await page.goto(address, { waitUntil: "commit" });
  await firstFrameWith(page, editor);
  const firstEditorMs = performance.now() - startedMs;
  await sleep(SETTLE_MS);
  await devTools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await devTools.send("Runtime.getHeapUsage");
  await context.close();
  return { firstEditorMs, loadedKb: loadedBytes / 1000, heapMb: usedSize / 1e6 };
}

function rowsOf(name: string, visits: Visit[]): Row[] {
  const isOurs = name === "Berth";
  const row = (what: string, unit: Row["unit"], pick: (visit: Visit) => number): Row => ({
    what: `${name}, ${what}`,
    unit,
    values: visits.map(pick),
    ...(isOurs && { beside: `code-server, ${what}` }),
  });
  return [
    { ...row("first editor", "ms", (visit) => visit.firstEditorMs), ...(isOurs && { targets: [{ of: "p50", atMost: 400 }] }) },
    row("bytes loaded", "kB", (visit) => visit.loadedKb),
    row("JavaScript heap", "MB", (visit) => visit.heapMb),
  ];
}

async function startCodeServer(run: Run): Promise<Page | undefined> {
  const program = onPath("code-server");
  if (program === undefined) {
    run.remark("code-server is not installed here, so nothing is compared with it.");
    return undefined;
  }
  const folder = await mkdtemp(join(tmpdir(), "berth-bench-"));
  await writeFile(join(folder, "README.md"), "# Hello\n");
  const port = await freePort();
  const places = ["--user-data-dir", join(folder, ".data"), "--extensions-dir", join(folder, ".extensions")];
  const child = spawn(program, ["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, ...places, folder], { stdio: "ignore" });
  const exited = once(child, "exit");
  run.resources.defer(async () => {
    child.kill("SIGKILL");
    await exited;
    await rm(folder, { recursive: true, force: true });
  });
  const base = `http://127.0.0.1:${port}`;
  while (!(await fetch(`${base}/healthz`).catch(() => null))) await sleep(POLL_MS);
  const payload = JSON.stringify([["openFile", `vscode-remote://127.0.0.1:${port}${folder}/README.md`]]);
  const url = `${base}/?folder=${folder}&payload=${encodeURIComponent(payload)}`;
  return { name: "code-server", url: async () => url, editor: ".monaco-editor .view-lines" };
}
