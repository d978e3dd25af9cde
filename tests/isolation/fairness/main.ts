// `npm run fairness -- [--rounds N] [--only NAME …]`: prints the victim's times during each attack as a table. The
// times depend on this machine; compare the ratios to its quiet times.
import { parseArgs } from "node:util";
import { ATTACKS } from "./attacks.ts";
import { openInstallation } from "./installation.ts";
import { standForOtherMachines } from "./scheduling.ts";
import { measure, mergeRounds, percentile, type Round } from "./measure.ts";
import { ACTIONS, openVictim } from "./victim.ts";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "40" }, only: { type: "string", multiple: true } } });
const rounds = Number(values.rounds);
let isRemoving = false;

await using installation = await openInstallation();
standForOtherMachines(installation.attackerPid);
// Sandboxes outlive the server, so an interrupted run must remove them too.
// A second signal, such as npm's, must not end the removal.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void removeAll());
await using victim = await openVictim(installation);
await measure(installation, victim, [], 5);
// The machine's mood changes during a run, so the quiet times come from all of it.
const quiet = [await measure(installation, victim, [], rounds)];
const attacked: Round[] = [];
for (const { name } of ATTACKS.filter((attack) => values.only?.includes(attack.name) ?? true)) {
  console.error(name);
  attacked.push(await measure(installation, victim, [name], rounds));
  quiet.push(await measure(installation, victim, [], Math.ceil(rounds / 4)));
}
print(mergeRounds(quiet), attacked);

async function removeAll(): Promise<void> {
  if (isRemoving) return;
  isRemoving = true;
  await installation[Symbol.asyncDispose]();
  process.exit(130);
}

function print(quiet: Round, attacked: Round[]): void {
  console.log(
    `| attack | ${ACTIONS.map((action) => `${action} p50 / p99 ms`).join(" | ")} | worst p99, × quiet | refused | longest stall ms | server MB |`,
  );
  console.log(`|---|${"---|".repeat(ACTIONS.length + 4)}`);
  for (const round of [quiet, ...attacked]) {
    const cells = ACTIONS.map((action) => `${ms(percentile(round.times[action], 0.5))} / ${ms(percentile(round.times[action], 0.99))}`);
    const ratios = ACTIONS.map((action) => percentile(round.times[action], 0.99) / percentile(quiet.times[action], 0.99));
    const rest = [Math.max(...ratios).toFixed(1), round.refused.length, round.longestStallMs.toFixed(0), round.serverMemoryMb.toFixed(0)];
    console.log(`| ${round.attack} | ${[...cells, ...rest].join(" | ")} |`);
    for (const sentence of new Set(round.refused)) console.error(`  ${sentence}`);
  }
}

function ms(value: number): string {
  return value.toFixed(value < 10 ? 1 : 0);
}
