import { startBareDaemon } from "../../baselines/bare-daemon.ts";
import type { Benchmark, Run } from "../../support/benchmark.ts";
import { openDockerRun } from "../../baselines/docker-run.ts";
import { openRawContainers } from "../../baselines/raw-container.ts";
import type { Row, Section, Target } from "../../report/report.ts";
import { COMMAND, expectVersion, iterate, runIterations, titleOf, type Iteration, type Mode } from "../../support/iterations.ts";
import { alternate, timed, type Contestant } from "../../support/rounds.ts";
import { runProgram } from "../../support/run-program.ts";
import { openServer } from "../../support/server.ts";
import { PLAIN_PATH } from "../../../server/drivers/host/run.ts";
import { percentile, trim } from "../../report/statistics.ts";
import { formatNumber } from "../../report/table.ts";

export const benchmark: Benchmark = {
  summary: "from create to the output of `node -v`: one by one, every 200 ms, and 100 at once",
  async run(run) {
    const sections: Section[] = [];
    const medians = new Map<string, number>();
    for (const mode of ["sequential", "staggered", "burst"] as const) {
      if (CONTESTANTS.some((name) => run.wants(`${mode} ${name}`))) sections.push(run.keep(await measureMode(run, mode, medians)));
    }
    return sections;
  },
};

const COLD = "Berth, no pool";
const DEFAULT = "Berth, default pool";
const FIRST = "Berth, default pool, first burst";
const FILLED = "Berth, filled pool";
const RUNC = "runc run";
const DOCKER = "docker run";
const DAEMON = "daemon alone, start";
const RUNC_AND_DAEMON = "runc run + daemon alone";
// The part of the time that no sandbox can save.
const HOST = "`node -v` on the host";

const CONTESTANTS = [COLD, DEFAULT, FILLED, RUNC, DOCKER, DAEMON, HOST];
const TARGETS: Record<string, Target[]> = {
  [`sequential ${FILLED}`]: [
    { of: "p50", atMost: 10 },
    { of: "ratio", atMost: 0.1 },
  ],
  [`sequential ${COLD}`]: [{ of: "ratio", atMost: 1.3 }],
  [`burst ${FILLED}`]: [
    { of: "p50", atMost: 150 },
    { of: "p99", atMost: 400 },
  ],
  [`burst ${FIRST}`]: [{ of: "p99", atMost: 3000 }],
  [`burst ${DEFAULT}`]: [{ of: "p99", atMost: 3000 }],
};

async function measureMode(run: Run, mode: Mode, sequentialMedians: Map<string, number>): Promise<Section> {
  const { perRound, rounds } = sizeOf(run, mode);
  run.progress(`${mode}: ${rounds} rounds of ${perRound}`);
  const wants = (name: string) => run.wants(`${mode} ${name}`);
  await using stack = new AsyncDisposableStack();
  const raw = stack.use(await openRawContainers(run));
  const docker = wants(DOCKER) ? await openDockerRun(run) : undefined;
  const firsts = new Map<string, number[]>();
  const iterations = new Map<string, { iteration: Iteration; settle?: () => Promise<void> }>();
  for (const [name, poolSize] of [
    [COLD, 0],
    [DEFAULT, 2],
    [FILLED, Math.max(perRound, 20)],
  ] as const) {
    if (!wants(name)) continue;
    const server = stack.use(await openServer(run, { poolSize }));
    iterations.set(name, { iteration: () => iterate(server.caller), settle: server.settle });
    // The pool grows after a burst, so that the next one finds it filled.
    if (mode === "burst" && name === DEFAULT) {
      firsts.set(FIRST, await runIterations(mode, perRound, () => iterate(server.caller)));
      await server.settle();
    }
  }
  if (wants(RUNC)) iterations.set(RUNC, { iteration: () => timed(async () => expectVersion(await raw.run(["/bin/sh", "-c", COMMAND]))) });
  if (docker) iterations.set(DOCKER, { iteration: () => timed(async () => expectVersion(await docker(["/bin/sh", "-c", COMMAND]))) });
  if (mode === "sequential" && wants(DAEMON)) iterations.set(DAEMON, { iteration: startBareDaemon });
  if (mode === "sequential" && wants(HOST)) iterations.set(HOST, { iteration: () => timed(async () => expectVersion(await runOnHost())) });

  const contestants = [...iterations].map(([name, { iteration, settle }]): Contestant => ({
    name,
    async round() {
      const values = await runIterations(mode, perRound, iteration);
      await settle?.();
      return values;
    },
  }));
  const measured = await alternate(contestants, { rounds, warmUps: mode === "sequential" ? 1 : 0, isOver: run.isOver });
  const values = new Map([...firsts, ...measured]);
  const [runc, daemon] = [values.get(RUNC), values.get(DAEMON)];
  if (runc && daemon)
    values.set(
      RUNC_AND_DAEMON,
      runc.map((ms, i) => ms + daemon[i]!),
    );
  if (mode === "sequential") for (const [name, taken] of values) sequentialMedians.set(name, percentile(taken, 0.5));
  const rows = [...values].map(([name, taken]) => rowOf(mode, name, taken, sequentialMedians));
  const filled = values.get(FILLED);
  if (mode !== "staggered" || !filled) return { title: titleOf(mode, perRound), rows };
  const atMost = Math.round(3 * percentile(filled, 0.99));
  const judged = rows.map((row) => (row.what === DEFAULT ? { ...row, targets: [{ of: "p99" as const, atMost }] } : row));
  return { title: titleOf(mode, perRound), rows: judged };
}

function rowOf(mode: Mode, what: string, values: number[], sequential: ReadonlyMap<string, number>): Row {
  const beside = what === COLD ? (mode === "sequential" ? RUNC_AND_DAEMON : RUNC) : DOCKER;
  const targets = TARGETS[`${mode} ${what}`];
  const sequentialMedian = sequential.get(what);
  const more = {
    "p99 trimmed": formatNumber(percentile(trim(values, 0.05), 0.99)),
    ...(mode === "burst" &&
      sequentialMedian !== undefined && { "burst / sequential": formatNumber(percentile(values, 0.5) / sequentialMedian) }),
  };
  return { what, unit: "ms", values, ...(what.startsWith("Berth") && { beside }), ...(targets && { targets }), more };
}

function sizeOf(run: Run, mode: Mode): { perRound: number; rounds: number } {
  if (mode === "burst") return { perRound: run.isShort ? 20 : 100, rounds: run.rounds(2, 1) };
  return { perRound: run.isShort ? 5 : 20, rounds: run.rounds(5, 2) };
}

const runOnHost = () => runProgram("/bin/sh", ["-c", COMMAND], { env: { PATH: PLAIN_PATH } });
