import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { prepareBerth, type Berth } from "../../../tests/support/servers/berth.ts";
import type { Benchmark, Run } from "../../support/benchmark.ts";
import { alternate, timed } from "../../support/rounds.ts";
import { addSessionRows } from "../../support/session-rows.ts";

export const benchmark: Benchmark = {
  summary: "from the start of the process to its first answer, with 0 and 10,000 sessions, and the same for `npm start`",
  async run(run) {
    const [empty, full] = [await prepare(run, 0), await prepare(run, 10_000)];
    const contestants = [
      { name: "berth serve, 0 sessions", round: () => start(run, empty, SERVE) },
      { name: "berth serve, 10,000 sessions", round: () => start(run, full, SERVE) },
      ...(isPrepared ? [{ name: "npm start", round: () => start(run, empty, ["npm", "start"]) }] : []),
    ];
    if (!isPrepared) run.remark("`npm start` is measured only by `npm run bench`: it may install packages unless the clone is prepared.");
    const values = await alternate(contestants, { rounds: run.rounds(15, 3), warmUps: 1 });
    const rows = [...values].map(([what, taken]) => {
      const targets = [{ of: "p50" as const, atMost: what === "npm start" ? 1000 : 400 }];
      return { what, unit: "ms" as const, values: taken, targets };
    });
    return [{ title: "From the start to the first answer", rows }];
  },
};

const root = join(import.meta.dirname, "../../..");
const SERVE = [process.execPath, join(root, "cli/bin.js"), "serve"];
const POLL_MS = 2;
// `npm run bench` installs and builds first.
const isPrepared = process.env.npm_lifecycle_event === "bench";

// A data folder with a database that a server has created.
async function prepare({ resources, progress }: Run, sessions: number): Promise<Berth> {
  progress(`preparing ${sessions} sessions`);
  const berth = resources.own(await prepareBerth({ BERTH_LOG_LEVEL: "error" }));
  await berth.start();
  await addSessionRows(berth, sessions);
  await berth.stop();
  return berth;
}

async function start({ resources }: Run, { url, dataDir, env }: Berth, [program = "", ...args]: string[]): Promise<number[]> {
  const settings = { PATH: process.env.PATH ?? "", HOME: dataDir, ...env };
  let child: ChildProcess | undefined;
  const tookMs = await timed(async () => {
    // Its own process group, because npm does not pass signals on.
    child = spawn(program, args, { cwd: root, env: settings, stdio: "ignore", detached: true });
    while (!(await isReady(url))) {
      if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
      await sleep(POLL_MS);
    }
  });
  await resources.defer(() => end(child!, url))[Symbol.asyncDispose]();
  return [tookMs];
}

async function end(child: ChildProcess, url: string): Promise<void> {
  const exited = once(child, "exit");
  process.kill(-child.pid!, "SIGTERM");
  await exited;
  while (await isReady(url)) await sleep(POLL_MS);
}

function isReady(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const sent = request({ host: "127.0.0.1", port: new URL(url).port, path: "/readyz", agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    sent.once("error", () => resolve(false));
    sent.end();
  });
}
