import { parseArgs } from "node:util";
import { signalGroups, type Round } from "./group-signals.ts";

// The long form of stop.test.ts: SIGINT and SIGTERM to the process group of `npm start`, at random moments of its life.
const { values } = parseArgs({ options: { moments: { type: "string", default: "50" }, longest: { type: "string", default: "8000" } } });
const moments = Array.from({ length: Number(values.moments) }, () => Math.round(Math.random() * Number(values.longest)));
const rounds: Round[] = [];
await signalGroups(moments, (round) => {
  rounds.push(round);
  console.log(
    `${rounds.length}/${moments.length} ${round.signal} at ${round.momentMs} ms (${round.wasReady ? "serving" : "starting"}): gone after ${round.tookMs} ms${round.unfinished ? `, unfinished: ${round.unfinished}` : ""}`,
  );
});
const longest = Math.max(...rounds.map(({ tookMs }) => tookMs));
console.log(`${rounds.length} of ${moments.length} gone, the slowest after ${longest} ms. The next server serves.`);
