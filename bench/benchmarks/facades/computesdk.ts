import { berth } from "../../../clients/computesdk/index.ts";
import type { Row, Section } from "../../report/report.ts";
import { trim } from "../../report/statistics.ts";
import type { Benchmark, Run } from "../../support/benchmark.ts";
import { COMMAND, expectVersion, iterate, runIterations, titleOf, type Iteration, type Mode } from "../../support/iterations.ts";
import { alternate, type Contestant } from "../../support/rounds.ts";
import { openServer } from "../../support/server.ts";

// ComputeSDK leaves out this share of the fastest and of the slowest.
const TRIMMED = 0.05;
const SDK = "ComputeSDK";
const OWN = "Berth's API";

export const benchmark: Benchmark = {
  summary: `from create to the output of \`${COMMAND}\` through ComputeSDK, beside our own API`,
  async run(run) {
    const sections: Section[] = [];
    // ComputeSDK has retired the first two.
    for (const mode of ["sequential", "staggered", "burst"] as const) {
      if (mode === "burst" ? run.wants(mode) : run.asksFor(mode)) sections.push(run.keep(await measureMode(run, mode)));
    }
    return sections;
  },
};

async function measureMode(run: Run, mode: Mode): Promise<Section> {
  const perRound = run.isShort ? 10 : 100;
  const rounds = run.rounds(2, 1);
  run.progress(`${mode}: ${rounds} rounds of ${perRound}`);
  await using stack = new AsyncDisposableStack();
  const { compute } = await import("computesdk");
  const contestants: Contestant[] = [];
  for (const [pool, poolSize] of [
    ["default pool", 2],
    ["filled pool", perRound],
  ] as const) {
    const { berth: service, caller, settle } = stack.use(await openServer(run, { poolSize }));
    const sdk = compute({ provider: berth({ baseUrl: service.url, apiKey: service.key }) });
    for (const [name, iteration] of [
      [SDK, () => iterateWith(sdk)],
      [OWN, () => iterate(caller)],
    ] as const)
      contestants.push({
        name: `${name}, ${pool}`,
        async round() {
          const values = await runIterations(mode, perRound, orFailed(run, iteration));
          await settle();
          return values;
        },
      });
  }
  // The pool grows after the first burst, from which only the second contestant would gain.
  const measured = await alternate(contestants, { rounds, warmUps: 1, isOver: run.isOver });
  return { title: titleOf(mode, perRound), rows: [...measured].map(([what, values]) => rowOf(what, values)) };
}

async function iterateWith({ sandbox: sandboxes }: ReturnType<(typeof import("computesdk"))["compute"]>): Promise<number> {
  const startedMs = performance.now();
  const sandbox = await sandboxes.create();
  const { stdout } = await sandbox.runCommand(COMMAND);
  expectVersion(stdout);
  const tookMs = performance.now() - startedMs;
  await sandbox.destroy();
  return tookMs;
}

// A failure is counted, as ComputeSDK does it.
const orFailed =
  (run: Run, iteration: Iteration): Iteration =>
  () =>
    iteration().catch((error: unknown) => {
      run.remark(`An iteration failed: ${error instanceof Error ? error.message : String(error)}`);
      return NaN;
    });

function rowOf(what: string, values: number[]): Row {
  const succeeded = values.filter((value) => !Number.isNaN(value));
  return {
    what,
    unit: "ms",
    values: trim(succeeded, TRIMMED),
    ...(what.startsWith(SDK) && { beside: what.replace(SDK, OWN) }),
    more: { success: `${succeeded.length} of ${values.length}` },
  };
}
