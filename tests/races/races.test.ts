import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { sharedPostgres } from "../support/databases/postgres.ts";
import { runMatrix } from "./matrix.ts";
import { heldPairs, statesOf, timedPairs } from "./pairs.ts";
import type { Pair } from "./rounds.ts";

// The short form: the pairs that once went wrong. The long form is `npm run races`.
const HELD: Record<string, string[]> = {
  resume: ["patch timeoutMs", "patch idleTimeoutMs", "patch egress", "exec", "start run", "delete"],
  pause: ["patch egress", "exec", "write", "start run", "socket", "resume"],
  delete: ["exec", "read", "start run", "socket", "fork", "patch metadata"],
  exec: ["patch timeoutMs", "pause", "delete"],
  socket: ["pause", "delete"],
  snapshot: ["delete"],
  fork: ["delete"],
  "fork snapshot": ["delete snapshot"],
  "patch timeoutMs": ["pause", "resume", "delete"],
  "patch egress": ["pause", "resume", "delete"],
};
const ON_BOTH = ["resume"];
const states = statesOf("running", "paused");
const held = (firsts: readonly string[]) =>
  heldPairs(states).filter(({ first, second }) => firsts.includes(first) && HELD[first]?.includes(second));
// A point cannot hold the server while it waits for a daemon, so the change comes at several moments.
const duringResume = timedPairs(statesOf("paused").slice(0, 1), [0, 5, 10, 15, 20, 25, 30, 40]).filter(
  ({ first, second }) => first === "resume" && second === "patch metadata",
);

async function violationsOf(pairs: readonly Pair[], env: Record<string, string>): Promise<string[]> {
  const found: string[] = [];
  let rounds = 0;
  for await (const { violation } of runMatrix({ pairs, env, lanes: 3 })) {
    rounds++;
    if (violation !== null) found.push(violation);
  }
  expect(rounds).toBeGreaterThan(pairs.length / 4);
  return found;
}

test("calls that meet on one session answer, and leave it, as one after the other would", async () => {
  expect(await violationsOf([...held(Object.keys(HELD)), ...duringResume], { BERTH_DRIVER: "process" })).toEqual([]);
});

test("calls that meet on one session in real sandboxes, with PostgreSQL, do too", async () => {
  const postgres = await sharedPostgres();
  const url = await postgres.createDatabase();
  const env = { BERTH_DATABASE_URL: url, BERTH_MASTER_KEY: randomBytes(32).toString("hex") };
  expect(await violationsOf(held(ON_BOTH), env)).toEqual([]);
});
