// npm run test:crash -- --rounds 200 [--seed 1] [--random]
// The long form of crash.test.ts: first every fail point, then random moments under load.
import { parseArgs } from "node:util";
import { FAIL_POINTS, crash } from "./rounds.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "50" },
    seed: { type: "string", default: "1" },
    random: { type: "boolean", default: false },
  },
});
const rounds = Number(values.rounds);
let done = 0;
let violations = 0;
const recoveries: number[] = [];
for await (const round of crash({ rounds, seed: Number(values.seed), points: values.random ? [] : FAIL_POINTS })) {
  done++;
  violations += round.violations.length;
  recoveries.push(round.recoveryMs);
  console.log(
    `round ${done}: killed at ${round.killedAt}, ready again after ${round.recoveryMs.toFixed(0)} ms, ${round.violations.length} violations`,
  );
  for (const violation of round.violations) console.log(`  ${violation}`);
}
recoveries.sort((a, b) => a - b);
const at = (share: number) => recoveries[Math.min(recoveries.length - 1, Math.floor(recoveries.length * share))]!.toFixed(0);
console.log(`${done} rounds, ${violations} violations; ready again after ${at(0.5)} ms (median), ${at(0.99)} ms (p99)`);
process.exitCode = violations === 0 ? 0 : 1;
