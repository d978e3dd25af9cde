import type { Benchmark, Run } from "../../support/benchmark.ts";
import type { Row, Section } from "../../report/report.ts";
import { timed } from "../../support/rounds.ts";
import { openServer, type BenchServer } from "../../support/server.ts";

export const benchmark: Benchmark = {
  summary: "for how long a snapshot of 1 GB freezes its session, idle and under a load of writes; a fork of twenty",
  async run(run) {
    return [run.keep(await measureSnapshots(run)), run.keep(await measureForks(run))];
  },
};

// It replaces a file of 400 KB about twenty times a second.
const WRITES = "while :; do head -c 400000 /dev/urandom > new; mv new current; sync current; sleep 0.05; done";

async function measureSnapshots(run: Run): Promise<Section> {
  const size = run.isShort ? "100 MB" : "1 GB";
  await using server = await openServer(run, { poolSize: 0, env: { BERTH_LOG_LEVEL: "info" } });
  const { berth, caller } = server;
  const { sessionId, sandboxId } = await caller.create();
  const shell = (command: string) => berth.api.exec(sandboxId, ["sh", "-c", command]);
  await shell(`head -c ${run.isShort ? 100_000_000 : 1_000_000_000} /dev/urandom > large; sync large`);
  const rows: Row[] = [];
  for (const load of ["idle", "writing"]) {
    run.progress(`${size}, ${load}`);
    if (load === "writing") await shell(`(${WRITES}) > /dev/null 2>&1 &`);
    const taken: number[] = [];
    const begin = frozenTimes(server).length;
    for (let round = 0; round < run.rounds(10, 2); round++) {
      let id = "";
      taken.push(await timed(async () => (id = idIn(await caller.call("POST", `/api/b2b/sessions/${sessionId}/snapshots`, 201)))));
      await caller.call("DELETE", `/api/b2b/snapshots/${id}`, 200);
    }
    rows.push({ what: `frozen, ${load}`, unit: "ms", values: frozenTimes(server).slice(begin), targets: [{ of: "p99", atMost: 200 }] });
    rows.push({ what: `the whole call, ${load}`, unit: "ms", values: taken });
  }
  return { title: `Snapshot of a session with ${size} of files`, rows };
}

async function measureForks(run: Run): Promise<Section> {
  run.progress("a fork of twenty");
  const count = run.isShort ? 3 : 20;
  await using server = await openServer(run, { poolSize: 0 });
  const { caller } = server;
  const { sessionId } = await caller.create();
  const values: number[] = [];
  for (let round = 0; round < run.rounds(3, 1); round++) {
    const request = { externalUserId: "bench", autoStartAgent: false, source: { sessionId }, count };
    let reply = "";
    values.push(await timed(async () => (reply = await caller.call("POST", "/api/b2b/sessions", 207, request))));
    for (const [, id] of reply.matchAll(/"sessionId":"(\w+)"/g)) await caller.call("DELETE", `/api/b2b/sessions/${id}`, 200);
  }
  return { title: `A fork of ${count} sessions`, rows: [{ what: "all sessions run", unit: "ms", values }] };
}

const idIn = (reply: string): string => /"id":"(\w+)"/.exec(reply)![1]!;

// The server logs how long it has frozen the sandbox.
const frozenTimes = ({ berth }: BenchServer): number[] => [...berth.output().matchAll(/"frozenMs":(\d+)/g)].map(([, ms]) => Number(ms));
