// npm run test:crash -- --rounds 200 [--seed 1] [--random] [--passes 3] [--postgres] [--docker]
// The long form of crash.test.ts: first every fail point, `passes` times, then random moments under load. With --docker, the
// fail points are those of sandboxes that have images.
import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { percentile } from "../../bench/report/statistics.ts";
import { startPostgres } from "../support/databases/postgres.ts";
import { startBerth } from "../support/servers/berth.ts";
import { openImageWorld } from "./images.ts";
import { measureOrphans, type OrphanTimes } from "./orphans.ts";
import { FAIL_POINTS, IMAGE_FAIL_POINTS, crash } from "./rounds.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "50" },
    seed: { type: "string", default: "1" },
    random: { type: "boolean", default: false },
    passes: { type: "string", default: "1" },
    postgres: { type: "boolean", default: false },
    docker: { type: "boolean", default: false },
  },
});
const rounds = Number(values.rounds);
const points = values.random
  ? []
  : Array.from({ length: Number(values.passes) }, () => (values.docker ? IMAGE_FAIL_POINTS : FAIL_POINTS)).flat();
await using postgres = values.postgres ? await startPostgres() : null;
const env: Record<string, string> = postgres
  ? { BERTH_DATABASE_URL: await postgres.createDatabase(), BERTH_MASTER_KEY: randomBytes(32).toString("hex") }
  : {};
await using images = values.docker ? await openImageWorld() : undefined;
let done = 0;
let violations = 0;
const ready: number[] = [];
const settled: number[] = [];
for await (const round of crash({ rounds, seed: Number(values.seed), points, env, ...(images && { images }) })) {
  done++;
  violations += round.violations.length;
  ready.push(round.recoveryMs);
  settled.push(round.recoveryMs + round.settledMs);
  const times = `ready after ${round.recoveryMs.toFixed(0)} ms, settled ${round.settledMs.toFixed(0)} ms later`;
  console.log(`round ${done}: killed at ${round.killedAt}, ${times}, ${round.violations.length} violations`);
  for (const violation of round.violations) console.log(`  ${violation}`);
}
const show = (values: number[]) => `${percentile(values, 0.5).toFixed(0)} ms (median), ${percentile(values, 0.99).toFixed(0)} ms (p99)`;
console.log(`${done} rounds, ${violations} violations; from start to ready ${show(ready)}, to everything settled ${show(settled)}`);
const times: OrphanTimes[] = [];
for (let round = 0; round < 5; round++) {
  // The server has the default settings.
  await using berth = await startBerth();
  times.push(await measureOrphans(berth));
}
const most = (pick: (time: OrphanTimes) => number) => `${Math.max(...times.map(pick)).toFixed(0)} ms`;
console.log(
  `from orphan to destroyed, at most of ${times.length}: unknown to the store ${most((time) => time.unknownMs)}, its row destroyed ${most((time) => time.destroyedMs)}, found at the start ${most((time) => time.atStartMs)}`,
);
process.exitCode = violations === 0 ? 0 : 1;
