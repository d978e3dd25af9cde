import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser } from "playwright-core";
import type { Session } from "@berth/contract";
import type { AgentState } from "@berth/contract/daemon.ts";
import { startModelServer } from "../../../tests/support/agents/model-server.ts";
import { editor, launchChromium } from "../../../tests/support/browser/workspace.ts";
import { machine } from "../../../tests/support/machine.ts";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import type { Benchmark, Run } from "../../support/benchmark.ts";
import type { Row, Section } from "../../report/report.ts";
import { openServer, type BenchServer } from "../../support/server.ts";

export const benchmark: Benchmark = {
  summary: "memory of an idle session: alone, with a terminal, with an open browser, and with an agent",
  async run(run) {
    const model = run.resources.own(await startModelServer());
    const env = {
      BERTH_MODEL_PROVIDER: "openai",
      BERTH_MODEL_BASE_URL: `${model.url}/v1`,
      BERTH_MODEL_API_KEY: "none",
      BERTH_MODEL_NAME: "scripted",
    };
    const sections: Section[] = [];
    for (const { name, use } of USES.filter((candidate) => run.wants(candidate.name))) {
      run.progress(name);
      await using server = await openServer(run, { poolSize: 0, env });
      sections.push(await measure(run, server, name, use));
    }
    const bare: Row = { what: BARE, unit: "MB", values: [await measureBareNode(run)] };
    return [{ title: "Memory of an idle session", rows: [...sections.flatMap(({ rows }) => rows), bare] }];
  },
};

// Brings a session into a state in which it then does nothing. Returns a function that ends that state.
type Use = (run: Run, server: BenchServer, session: Session) => Promise<AsyncDisposable | void>;

const USES: { name: string; use: Use }[] = [
  { name: "idle", use: async () => {} },
  { name: "with a terminal", use: openTerminal },
  { name: "with a browser", use: openBrowser },
  { name: "with an agent", use: startAgent },
];
const BARE = "a Node that does nothing, private";
const MB = 1_000_000;
const KB = 1024;
const QUIET_MS = 3000;
const POLL_MS = 100;

async function measure(run: Run, server: BenchServer, name: string, use: Use): Promise<Section> {
  const { berth, caller } = server;
  const sessions: Session[] = [];
  await using uses = new AsyncDisposableStack();
  const add = async () => {
    const session = await caller.create();
    const end = await use(run, server, session);
    if (end) uses.use(end);
    sessions.push(session);
  };
  // The first session makes the server load code that all others share.
  await add();
  const before = memoryOf([berth.pid()]).privateMb;
  for (let i = 0; i < run.rounds(10, 3); i++) await add();
  await sleep(QUIET_MS);
  const serverMb = (memoryOf([berth.pid()]).privateMb - before) / (sessions.length - 1);
  const found = sessions.map(({ sandboxId }) => memoryOf(processesOf(sandboxId)));
  const rows: Row[] = [
    {
      what: `${name}, private`,
      unit: "MB",
      values: found.map(({ privateMb }) => privateMb),
      beside: BARE,
      ...(name === "idle" && { targets: [{ of: "p50", atMost: 10 }] }),
    },
    { what: `${name}, PSS`, unit: "MB", values: found.map(({ pssMb }) => pssMb) },
    { what: `${name}, growth of the server`, unit: "MB", values: [Math.max(0, serverMb)] },
  ];
  return { title: name, rows };
}

async function openTerminal(_run: Run, { caller }: BenchServer, { sandboxId }: Session): Promise<void> {
  await caller.call("POST", `/sandboxes/${sandboxId}/terminals`, 201, { cols: 80, rows: 24 });
}

async function startAgent(_run: Run, { caller }: BenchServer, { sandboxId }: Session): Promise<void> {
  await caller.call("POST", `/sandboxes/${sandboxId}/agent/start`, 200);
  for (;;) {
    const { status, message } = JSON.parse(await caller.call("GET", `/sandboxes/${sandboxId}/agent`, 200)) as AgentState;
    if (status === "ready") return;
    if (status !== "starting") throw new Error(`the agent is ${status}: ${message}`);
    await sleep(POLL_MS);
  }
}

async function openBrowser(run: Run, { caller }: BenchServer, { sandboxId, sessionId }: Session): Promise<AsyncDisposable | void> {
  if (machine.chromium !== undefined) return run.remark(`A browser ${machine.chromium}.`);
  const browser: Browser = await launchChromium();
  const opened = run.resources.defer(() => browser.close());
  await caller.exec(sandboxId, "echo '# Hello' > README.md");
  const { url } = JSON.parse(await caller.call("POST", `/api/b2b/sessions/${sessionId}/launch-url`, 200)) as { url: string };
  const page = await browser.newPage();
  await page.goto(url);
  await editor(page).waitFor();
  return opened;
}

// The limit of a daemon in Node.
async function measureBareNode({ resources }: Run): Promise<number> {
  const node = join(await daemonRuntime(), "host/node");
  const child = spawn(node, ["--eval", "setInterval(() => {}, 1e9)"], { stdio: "ignore" });
  const exited = once(child, "exit");
  const ending = resources.defer(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  await sleep(QUIET_MS);
  const { privateMb } = memoryOf([child.pid!]);
  await ending[Symbol.asyncDispose]();
  return privateMb;
}

// The processes in the sandbox's control group.
function processesOf(sandboxId: string): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => readIfPresent(`/proc/${pid}/cgroup`).includes(sandboxId)).map(Number);
}

function memoryOf(pids: readonly number[]): { privateMb: number; pssMb: number } {
  const rollups = pids.map((pid) => readIfPresent(`/proc/${pid}/smaps_rollup`));
  const sum = (name: string) =>
    (rollups.reduce((total, text) => total + Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0), 0) * KB) / MB;
  return { privateMb: sum("Private_Clean") + sum("Private_Dirty"), pssMb: sum("Pss") };
}

function readIfPresent(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process has ended.
    return "";
  }
}
