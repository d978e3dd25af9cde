import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CALLS, type Hold } from "./calls.ts";
import { outcomesOf, type Explanation, type State } from "./model.ts";
import type { StartState, Subject } from "./subject.ts";

// Two calls that meet on one session.
export interface Pair {
  first: string;
  second: string;
  from: StartState;
  // When the second call is sent: while the server holds the first one at a point, or some milliseconds after the first one.
  meet: Hold | number;
}

export interface Round {
  pair: Pair;
  // null if all is well.
  violation: string | null;
}

// The second call gets this long to overtake the first one. If it waits for the first one, that goes on then.
const OVERTAKE_MS = 150;
const REACH_MS = 10_000;
const MAX_MS = 20_000;

// null: the first call does not reach the point at which it would be held.
export async function runRound(subject: Subject, pair: Pair, holdFolder: string): Promise<Round | null> {
  const withSnapshot = [pair.first, pair.second].some((name) => name.endsWith(" snapshot"));
  const state = await subject.prepare(pair.from, { withSnapshot });
  const answers =
    typeof pair.meet === "number" ? await sendBoth(subject, pair, pair.meet) : await meetAtHold(subject, pair, pair.meet, holdFolder);
  const found = await subject.observe();
  if (!answers) return null;
  return { pair, violation: judge(pair, state, answers, found) };
}

async function sendBoth(subject: Subject, { first, second }: Pair, offsetMs: number): Promise<[string, string]> {
  const sent = send(subject, first);
  if (offsetMs > 0) await delay(offsetMs);
  return Promise.all([sent, send(subject, second)]);
}

async function meetAtHold(
  subject: Subject,
  { first, second }: Pair,
  { of, point }: Hold,
  folder: string,
): Promise<[string, string] | null> {
  const armed = join(folder, `${subject.start[`${of}Id`]} ${point}`);
  const reached = `${armed} reached`;
  await writeFile(armed, "");
  try {
    let isAnswered = false;
    const sent = send(subject, first).finally(() => (isAnswered = true));
    for (const endMs = performance.now() + REACH_MS; !existsSync(reached); await delay(2)) {
      if (isAnswered) return null;
      if (performance.now() > endMs) throw new Error(`${first} neither comes to ${point} nor ends`);
    }
    const overtaking = send(subject, second);
    await Promise.race([overtaking, delay(OVERTAKE_MS)]);
    await rm(reached, { force: true });
    return await Promise.all([sent, overtaking]);
  } finally {
    await Promise.all([rm(armed, { force: true }), rm(reached, { force: true })]);
  }
}

// The answer of a call, or how its connection broke.
async function send(subject: Subject, name: string): Promise<string> {
  const timeout = delay(MAX_MS, `no answer in ${MAX_MS} ms`, { ref: false });
  const sent = CALLS[name]!.send(subject).catch(
    (error: Error & { cause?: { code?: string } }) => `broken: ${error.cause?.code ?? error.message}`,
  );
  return Promise.race([sent, timeout]);
}

function judge({ first, second }: Pair, state: State, answers: [string, string], found: Partial<State>): string | null {
  const outcomes = outcomesOf(state, CALLS[first]!.phases, CALLS[second]!.phases).filter((outcome) => isAllowed(outcome, [first, second]));
  if (outcomes.some((outcome) => explains(outcome, answers, found))) return null;
  const answered = outcomes.filter((outcome) => outcome.answers.every((answer, call) => answer === answers[call]));
  const reason =
    answered.length === 0 ? "no order of the calls explains these answers" : `expected ${differences(answered[0]!.state, found)}`;
  return `${first} ${answers[0]}, ${second} ${answers[1]}, then ${JSON.stringify(found)}: ${reason}`;
}

// Only a call with a step of its own makes a pause or a resume wait.
const isAllowed = ({ answers }: Explanation, names: [string, string]): boolean =>
  answers.every((answer, call) => answer !== "409 session_busy" || CALLS[names[1 - call]!]!.isStep === true);

const explains = (outcome: Explanation, answers: [string, string], found: Partial<State>): boolean =>
  outcome.answers.every((answer, call) => answer === answers[call]) && differences(outcome.state, found) === "";

const differences = (expected: State, found: Partial<State>): string =>
  Object.entries(found)
    .filter(([name, value]) => expected[name as keyof State] !== value)
    .map(([name, value]) => `${name} ${expected[name as keyof State]} instead of ${value}`)
    .join(", ");
