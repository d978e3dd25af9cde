import { setTimeout as sleep } from "node:timers/promises";
import type { Benchmark, Run } from "../../support/benchmark.ts";
import { openRawContainers } from "../../baselines/raw-container.ts";
import type { Row, Section } from "../../report/report.ts";
import { alternate, timed, type Contestant } from "../../support/rounds.ts";
import { openServer } from "../../support/server.ts";
import { isHibernated, openDatabase } from "../../support/session-rows.ts";

export const benchmark: Benchmark = {
  summary: "pause and resume, hot and hibernated, beside `runc pause`, `runc resume` and `runc run`",
  async run(run) {
    return [run.keep(await measureHot(run)), run.keep(await measureHibernated(run))];
  },
};

const POLL_MS = 20;

async function measureHot(run: Run): Promise<Section> {
  run.progress("hot");
  await using server = await openServer(run, { poolSize: 0 });
  const { caller } = server;
  const { sessionId } = await caller.create();
  const path = `/api/b2b/sessions/${sessionId}`;
  const raw = await openRawContainers(run);
  const container = await raw.start();
  const contestants: Contestant[] = [
    { name: "Berth, pause", round: async () => [await timed(() => caller.call("POST", `${path}/pause`, 200))] },
    { name: "runc pause", round: async () => [await timed(container.pause)] },
    {
      name: "Berth, resume",
      round: async () => [await timed(() => caller.call("POST", `${path}/resume`, 200, { autoStartAgent: false }))],
    },
    { name: "runc resume", round: async () => [await timed(container.resume)] },
  ];
  const measured = new Map(contestants.map(({ name }) => [name, [] as number[]]));
  // A session is paused before it is resumed, so every round has this order, and `alternate` does not fit.
  for (let round = -3; round < run.rounds(60, 10); round++)
    for (const contestant of contestants) {
      const taken = await contestant.round();
      if (round >= 0) measured.get(contestant.name)!.push(...taken);
    }
  await raw[Symbol.asyncDispose]();
  return {
    title: "Pause and resume of a session whose memory stays",
    rows: [...measured].map(([what, values]): Row => {
      if (what.startsWith("runc")) return { what, unit: "ms", values };
      return { what, unit: "ms", values, beside: what.replace("Berth,", "runc"), targets: [{ of: "ratio", atMost: 1 }] };
    }),
  };
}

async function measureHibernated(run: Run): Promise<Section> {
  run.progress("hibernated");
  await using server = await openServer(run, { poolSize: 0, env: { BERTH_HIBERNATE_AFTER: "0" } });
  const { berth, caller } = server;
  await using store = await openDatabase(berth);
  const { sessionId } = await caller.create();
  const path = `/api/b2b/sessions/${sessionId}`;
  const raw = await openRawContainers(run);
  const values = await alternate(
    [
      {
        name: "Berth, resume",
        async round() {
          await caller.call("POST", `${path}/pause`, 200);
          while (!(await isHibernated(store, sessionId))) await sleep(POLL_MS);
          return [await timed(() => caller.call("POST", `${path}/resume`, 200, { autoStartAgent: false }))];
        },
      },
      {
        name: "runc run",
        async round() {
          const taken: number[] = [];
          await using stack = new AsyncDisposableStack();
          taken.push(await timed(async () => stack.use(await raw.start())));
          return taken;
        },
      },
    ],
    { rounds: run.rounds(20, 3), warmUps: 1 },
  );
  await raw[Symbol.asyncDispose]();
  return {
    title: "Resume of a session whose processes have ended",
    rows: [
      { what: "Berth, resume", unit: "ms", values: values.get("Berth, resume")!, beside: "runc run" },
      { what: "runc run", unit: "ms", values: values.get("runc run")! },
    ],
  };
}
