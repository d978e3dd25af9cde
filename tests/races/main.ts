// npm run races [-- --store sqlite,postgres] [--driver process,oci] [--offsets 0,3,12] [--lanes 4] [--first pause] [--second exec]
// The long form of races.test.ts: every pair of calls from every state, with the first call held at each of its points and with the
// second call some milliseconds after the first one.
import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { startPostgres } from "../support/databases/postgres.ts";
import { runMatrix } from "./matrix.ts";
import { heldPairs, statesOf, timedPairs } from "./pairs.ts";
import type { Pair } from "./rounds.ts";
import { createTable } from "./table.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "sqlite,postgres" },
    driver: { type: "string", default: "process,oci" },
    offsets: { type: "string", default: "0,3,12" },
    lanes: { type: "string", default: "4" },
    first: { type: "string", default: "" },
    second: { type: "string", default: "" },
  },
});
const listOf = (value: string) => value.split(",").filter(Boolean);
const isNamed = (value: string, name: string) => value === "" || listOf(value).includes(name);
const isWanted = ({ first, second }: Pair) => isNamed(values.first, first) && isNamed(values.second, second);
const offsets = listOf(values.offsets).map(Number);

// Sandboxes of the process driver are cheap. Those of oci are the real ones, and only they can be hibernated.
const pairsOf = (driver: string): Pair[][] => {
  const states = statesOf("running", "paused");
  return driver === "process"
    ? [[...heldPairs(states), ...timedPairs(states, offsets)]]
    : [heldPairs(states), heldPairs(statesOf("hibernated"))];
};

await using postgres = listOf(values.store).includes("postgres") ? await startPostgres() : null;
let violations = 0;
for (const driver of listOf(values.driver))
  for (const engine of listOf(values.store)) {
    const table = createTable();
    const startedMs = performance.now();
    for (const pairs of pairsOf(driver)) {
      const env: Record<string, string> = { BERTH_DRIVER: driver };
      if (engine === "postgres" && postgres) {
        env.BERTH_DATABASE_URL = await postgres.createDatabase();
        env.BERTH_MASTER_KEY = randomBytes(32).toString("hex");
      }
      for await (const round of runMatrix({ pairs: pairs.filter(isWanted), env, lanes: Number(values.lanes) })) {
        table.add(round);
        if (round.violation !== null) console.log(`${placeOf(round.pair)}: ${round.violation}`);
      }
    }
    violations += table.violations();
    const minutes = ((performance.now() - startedMs) / 60_000).toFixed(1);
    console.log(
      `\n${driver} on ${engine}: ${table.rounds()} rounds, ${table.violations()} violations, ${minutes} minutes\n${table.format()}\n`,
    );
  }
process.exitCode = violations === 0 ? 0 : 1;

function placeOf({ from, meet }: Pair): string {
  const at = typeof meet === "number" ? `${meet} ms` : meet.point;
  return `${from.status}${from.autoResume ? " with autoResume" : ""}, ${at}`;
}
