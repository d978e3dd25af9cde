import { openRawContainers } from "../../baselines/raw-container.ts";
import { sandboxesAloneMs, startsAloneMs } from "../../baselines/starts-alone.ts";
import type { Benchmark, Run } from "../../support/benchmark.ts";
import { childrenMs, machineMs, processorMs } from "../../support/processor-time.ts";
import type { Row, Section, Target } from "../../report/report.ts";
import { timed } from "../../support/rounds.ts";
import { openServer, type BenchServer } from "../../support/server.ts";

// Callers that create and destroy sessions without a pause.
export const benchmark: Benchmark = {
  summary: "pairs of create and destroy a second, with 1, 4 and 20 callers",
  async run(run) {
    // A pool that grows between the rounds would serve the next round.
    await using server = await openServer(run, { env: { BERTH_POOL_MAX: "0" } });
    await using raw = await openRawContainers(run);
    const counts = [1, 4, 20].filter((callers) => run.wants(`callers ${callers}`));
    const measured = new Map(counts.map((callers): [number, Round[]] => [callers, []]));
    const alone: Record<string, number[]> = { [ALONE]: [], [BY_HAND]: [] };
    // The first pairs compile the server's code: a pair costs half as much again then, which the first burst of `burst` shows.
    await measurePairs(server, 4, run.isShort ? 4 : 60);
    for (let round = 0; round < run.rounds(6, 1); round++) {
      run.progress(`${ALONE}, round ${round + 1}`);
      alone[ALONE]!.push(await startsAloneMs(raw, ALONE_AT_ONCE));
      alone[BY_HAND]!.push(await sandboxesAloneMs(raw, ALONE_AT_ONCE));
      for (const callers of counts) {
        run.progress(`callers: ${callers}, round ${round + 1}`);
        measured.get(callers)!.push(await measurePairs(server, callers, pairsOf(callers, run)));
        await server.settle();
      }
    }
    return [...measured].flatMap(([callers, rounds]) => sectionsOf(callers, rounds, alone));
  },
};

const pairsOf = (callers: number, { isShort }: Run) => (isShort ? Math.max(6, callers * 2) : Math.max(20, callers * 5));

interface Round {
  createMs: number[];
  destroyMs: number[];
  pairsPerS: number;
  // The processor time of the server and of the programs that it started, for each pair.
  serverMs: number;
  // The processor time of everything on the machine, sandboxes included.
  machineMs: number;
}

async function measurePairs({ berth, caller }: BenchServer, callers: number, pairs: number): Promise<Round> {
  const round = { createMs: [] as number[], destroyMs: [] as number[] };
  const pid = berth.pid();
  const used = () => ({ server: processorMs(pid) + childrenMs(pid), machine: machineMs() });
  const before = used();
  let left = pairs;
  const tookMs = await timed(() =>
    Promise.all(
      Array.from({ length: callers }, async () => {
        while (left-- > 0) {
          const startedMs = performance.now();
          const session = await caller.create();
          round.createMs.push(performance.now() - startedMs);
          round.destroyMs.push(await timed(() => caller.destroy(session)));
        }
      }),
    ),
  );
  const after = used();
  return {
    ...round,
    pairsPerS: (pairs / tookMs) * 1000,
    serverMs: (after.server - before.server) / pairs,
    machineMs: (after.machine - before.machine) / pairs,
  };
}

function sectionsOf(callers: number, rounds: Round[], alone: Record<string, number[]>): Section[] {
  const rows: Row[] = [
    { what: "create", unit: "ms", values: rounds.flatMap((round) => round.createMs) },
    { what: "destroy", unit: "ms", values: rounds.flatMap((round) => round.destroyMs) },
    { what: "pairs", unit: "1/s", values: rounds.map((round) => round.pairsPerS) },
    { what: "CPU of the server and its programs, a pair", unit: "ms", values: rounds.map((round) => round.serverMs) },
    { what: "CPU of the machine, a pair", unit: "ms", values: rounds.map((round) => round.machineMs), beside: ALONE },
    ...Object.entries(alone).map(([what, values]): Row => ({ what, unit: "ms", values })),
  ];
  const withTargets = rows.map((row) => ({ ...row, targets: TARGETS[`${callers} ${row.what}`] ?? [] }));
  return [{ title: `Create and destroy, callers: ${callers}`, rows: withTargets }];
}

const ALONE_AT_ONCE = 10;
const ALONE = "CPU of `runc run` and the daemon's start alone";
const BY_HAND = "CPU of a sandbox that is started, called and ended without a server";
const TARGETS: Record<string, Target[]> = {
  "1 destroy": [{ of: "p50", atMost: 20 }],
  "20 create": [{ of: "p99/p50", atMost: 3 }],
  "20 pairs": [{ of: "p50", atLeast: 20 }],
  "1 CPU of the machine, a pair": [{ of: "p50", atMost: 100 }],
};
