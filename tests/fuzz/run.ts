import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { createFailureLog, type Failure } from "./failures.ts";
import { caseSeed } from "./seed.ts";
import { findLeaks } from "./leaks.ts";
import type { AnyTarget, Finding, ServerSample, World } from "./target.ts";

// Runs cases of every target concurrently against one server, until the number of cases or the time is reached. If the server
// ends, the run replaces it and searches the running cases for the one that ended it.

export interface RunOptions<W extends World> {
  open: () => Promise<W>;
  targets: (world: W) => AnyTarget[];
  seed: number;
  // The run ends at the first limit. At least one is required.
  maxCases?: number;
  maxMs?: number;
  // The minimum idle time before a sample, in which idle connections close.
  settleMs?: number;
  // Ends the run early.
  signal?: AbortSignal;
  onProgress?: (counts: ReadonlyMap<string, number>, elapsedMs: number) => void;
}

export interface RunResult {
  seed: number;
  elapsedMs: number;
  // Counts the cases of each target.
  cases: Map<string, number>;
  failures: Failure[];
  // Samples after the first part of the run and at its end, when nothing is open.
  samples: { early: ServerSample; late: ServerSample } | undefined;
  leaks: string[];
}

interface UnderWay {
  target: AnyTarget;
  number: number;
  plan: never;
}

const PROGRESS_MS = 10_000;
// A hostile daemon can ask the server to keep its connection for 10 s.
const SETTLE_MS = 12_000;
const MAX_CRASHES = 10;
// The cases of every target before the first sample, which cover all one-time allocations.
const WARM_UP_SHARE = 0.2;

export async function runFuzz<W extends World>(options: RunOptions<W>): Promise<RunResult> {
  const { open, targets: targetsOf, seed, maxCases = Infinity, maxMs = Infinity, settleMs = SETTLE_MS, signal, onProgress } = options;
  const cases = new Map<string, number>();
  const failures = createFailureLog();
  let world = await open();
  let targets = targetsOf(world);
  for (const { name } of targets) cases.set(name, 0);
  const startMs = performance.now();
  const elapsedMs = () => performance.now() - startMs;
  const total = () => [...cases.values()].reduce((sum, count) => sum + count, 0);
  const progress = () => Math.max(total() / maxCases, elapsedMs() / maxMs);
  let early: ServerSample | undefined;
  let phase: "warm-up" | "main" = "warm-up";
  const isOver = () => signal?.aborted || world.isDown || progress() >= (phase === "warm-up" ? WARM_UP_SHARE : 1);

  // Numbers are consecutive, so that a case's plan depends only on the seed and its number.
  const next = new Map<string, number>(targets.map(({ name }) => [name, 0]));
  // The last cases of every worker, newest first, because the end of a server is detected a moment after its cause.
  const recent = new Map<string, UnderWay[]>();

  async function work(target: AnyTarget, worker: number): Promise<void> {
    const place = `${target.name} ${worker}`;
    while (!isOver()) {
      const number = next.get(target.name) ?? 0;
      next.set(target.name, number + 1);
      const plan = planOf(target, seed, number);
      recent.set(place, [{ target, number, plan }, ...(recent.get(place) ?? [])].slice(0, SUSPECTS_PER_WORKER));
      const finding = await runCase(target, plan, worker, `${number}`);
      // The response of a dying server says nothing about the case.
      if (world.isDown) return;
      cases.set(target.name, (cases.get(target.name) ?? 0) + 1);
      if (finding) failures.add({ target: target.name, number, plan, finding });
    }
  }

  const timer = setInterval(() => onProgress?.(cases, elapsedMs()), PROGRESS_MS).unref();
  try {
    for (let crashes = 0; progress() < 1 && crashes < MAX_CRASHES && !signal?.aborted;) {
      recent.clear();
      await Promise.all(targets.flatMap((target) => Array.from({ length: target.workers }, (_, worker) => work(target, worker))));
      if (!world.isDown && phase === "warm-up") {
        early = await settledSample(world, settleMs);
        phase = "main";
        continue;
      }
      if (!world.isDown) break;
      crashes++;
      const words = await world.lastWords();
      await world[Symbol.asyncDispose]();
      ({ world, targets } = await blame(newestFirst([...recent.values()]), words));
    }
    const late = world.isDown || !early ? undefined : await settledSample(world, settleMs);
    const samples = early && late ? { early, late } : undefined;
    return { seed, elapsedMs: elapsedMs(), cases, failures: failures.list(), samples, leaks: samples ? findLeaks(samples) : [] };
  } finally {
    clearInterval(timer);
    await world[Symbol.asyncDispose]();
  }

  // Runs the suspects one by one on new servers. If none of them ends its server alone, all of them are recorded.
  async function blame(suspects: UnderWay[], words: string): Promise<{ world: W; targets: AnyTarget[] }> {
    let fresh = await open();
    let freshTargets = targetsOf(fresh);
    const finding: Finding = { kind: "crash", sentence: sentenceOf(words) };
    for (const { target, number, plan } of suspects) {
      const same = freshTargets.find(({ name }) => name === target.name);
      if (!same) continue;
      await Promise.race([runCase(same, plan, 0, `blame-${number}`), sleep(BLAME_MS)]);
      for (const endMs = performance.now() + AFTERMATH_MS; !fresh.isDown && performance.now() < endMs;) await sleep(20);
      if (!fresh.isDown) continue;
      failures.add({ target: target.name, number, plan, finding });
      await fresh[Symbol.asyncDispose]();
      fresh = await open();
      freshTargets = targetsOf(fresh);
      return { world: fresh, targets: freshTargets };
    }
    const names = suspects.map(({ target, number }) => `${target.name} ${number}`).join(", ");
    failures.add({
      target: "(several)",
      number: -1,
      plan: suspects.map(({ target, number, plan }) => ({ target: target.name, number, plan: plan as unknown })),
      finding: { kind: "crash", sentence: `${finding.sentence}; under way: ${names}` },
    });
    return { world: fresh, targets: freshTargets };
  }
}

const SUSPECTS_PER_WORKER = 3;
// Enough for a case that waits for nothing.
const BLAME_MS = 2_000;
// A process may take this long to end on a busy machine.
const AFTERMATH_MS = 400;

const newestFirst = (lists: UnderWay[][]): UnderWay[] =>
  Array.from({ length: SUSPECTS_PER_WORKER }, (_, age) => lists.flatMap((list) => list[age] ?? [])).flat();

const sentenceOf = (words: string): string =>
  words
    .split("\n")
    .slice(0, 3)
    .map((line) => line.trim())
    .join(" | ")
    .slice(0, 300);

export const planOf = (target: AnyTarget, seed: number, number: number): never =>
  fc.sample(target.plan, { seed: caseSeed(seed, target.name, number), numRuns: 1 })[0] as never;

export async function runCase(target: AnyTarget, plan: never, worker: number, caseId: string): Promise<Finding | undefined> {
  const over = new AbortController();
  const { promise: late, resolve } = Promise.withResolvers<Finding>();
  const timer = setTimeout(() => resolve({ kind: "hang", sentence: `not over within ${target.deadlineMs} ms` }), target.deadlineMs);
  try {
    return await Promise.race([target.run(plan, { worker, caseId, signal: over.signal }), late]);
  } catch (error) {
    return { kind: "wrong answer", sentence: `the case could not be run: ${String(error)}` };
  } finally {
    clearTimeout(timer);
    over.abort(OVER);
  }
}

const OVER = new Error("the case is over");

const MORE_SETTLE_MS = 10_000;

// Waits until the number of open files stays the same.
async function settledSample(world: World, settleMs: number): Promise<ServerSample> {
  await sleep(settleMs);
  let before = await world.sample();
  let stallMs = before.longestStallMs;
  for (const endMs = performance.now() + MORE_SETTLE_MS; performance.now() < endMs;) {
    await sleep(200);
    const sample = await world.sample();
    stallMs = Math.max(stallMs, sample.longestStallMs);
    const isQuiet = sample.openFiles === before.openFiles;
    before = sample;
    if (isQuiet) break;
  }
  return { ...before, longestStallMs: stallMs };
}
