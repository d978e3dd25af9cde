// npm run fuzz -- --minutes 30 [--cases 1000000] [--seed 1] [--target "partner API"] [--out folder]
// npm run fuzz -- --replay tests/artifacts/fuzz/….json
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openBerthWorld } from "./berth-world.ts";
import { writeReproducer, type Reproducer } from "./failures.ts";
import { showResult } from "./report.ts";
import { runCase, runFuzz } from "./run.ts";
import { shrink } from "./shrink.ts";
import { createTargets } from "./targets/index.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string" },
    cases: { type: "string" },
    seed: { type: "string" },
    target: { type: "string" },
    replay: { type: "string" },
    out: { type: "string", default: join(import.meta.dirname, "../artifacts/fuzz") },
  },
});

const stop = new AbortController();
// An interrupted run still prints its results and leaves nothing running.
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => stop.abort());

process.exitCode = values.replay === undefined ? await fuzz() : await replay(values.replay);

async function fuzz(): Promise<number> {
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const targets = (world: Parameters<typeof createTargets>[0]) =>
    createTargets(world).filter(({ name }) => values.target === undefined || name === values.target);
  const minutes = values.minutes ?? (values.cases === undefined ? "1" : undefined);
  console.log(`seed ${seed}`);
  const result = await runFuzz({
    open: openBerthWorld,
    targets,
    seed,
    signal: stop.signal,
    ...(minutes !== undefined && { maxMs: Number(minutes) * 60_000 }),
    ...(values.cases !== undefined && { maxCases: Number(values.cases) }),
    onProgress(cases, elapsedMs) {
      const total = [...cases.values()].reduce((sum, count) => sum + count, 0);
      console.log(`${(elapsedMs / 1000).toFixed(0)} s: ${total} cases, ${((total / elapsedMs) * 1000).toFixed(0)} a second`);
    },
  });
  for (const failure of result.failures) {
    failure.minimal = await shrink(failure, seed, { open: openBerthWorld, targets });
    console.log(`reproducer: ${await writeReproducer(values.out, seed, failure)}`);
  }
  console.log(showResult(result));
  return result.failures.length + result.leaks.length === 0 ? 0 : 1;
}

async function replay(path: string): Promise<number> {
  const { target: name, plan, finding } = JSON.parse(await readFile(path, "utf8")) as Reproducer;
  await using world = await openBerthWorld();
  const target = createTargets(world).find((one) => one.name === name);
  if (!target) throw new Error(`there is no target "${name}"`);
  const seen = await runCase(target, plan as never, 0, "replay");
  console.log({ expected: finding, seen: world.isDown ? { kind: "crash", sentence: await world.lastWords() } : seen });
  return seen || world.isDown ? 1 : 0;
}
