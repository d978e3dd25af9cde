import { setTimeout as sleep } from "node:timers/promises";
import type { Installation } from "./installation.ts";
import { ACTIONS, STEPS, type Action, type Victim } from "./victim.ts";

export interface Round {
  attack: string;
  // Milliseconds of each action, in the order in which they were taken.
  times: Record<Action, number[]>;
  refused: string[];
  // The longest stall of the server's event loop, and the server's resource usage at the end.
  longestStallMs: number;
  serverMemoryMb: number;
}

// Measures the victim's work for a number of rounds while the attacks run; without attacks the server is quiet. Cheap actions are
// repeated within a round, which gives enough values for a percentile.
export async function measure(installation: Installation, victim: Victim, attacks: readonly string[], rounds: number): Promise<Round> {
  const times = { create: [], exec: [], keystroke: [], webhook: [] } as Round["times"];
  const refused: string[] = [];
  await using _attack = attacks.length > 0 ? await installation.attack(attacks) : null;
  // Gives the attacks time to reach full load.
  if (attacks.length > 0) await sleep(1_000);
  // Reading resets the longest stall.
  await installation.metric("berth_nodejs_eventloop_lag_max_seconds");
  for (let round = 0; round < rounds; round++) {
    for (const step of STEPS) {
      const outcome = await victim[step]().catch((error: unknown) => String(error));
      if (typeof outcome === "string") refused.push(`${step}: ${outcome}`);
      else for (const action of ACTIONS) if (outcome[action] !== undefined) times[action].push(outcome[action]);
    }
  }
  const longestStallMs = 1_000 * (await installation.metric("berth_nodejs_eventloop_lag_max_seconds"));
  const serverMemoryMb = (await installation.metric("berth_process_resident_memory_bytes")) / 2 ** 20;
  return { attack: attacks.join(", ") || "quiet", times, refused, longestStallMs, serverMemoryMb };
}

// All values of several measurements of the same attack.
export function mergeRounds(rounds: readonly Round[]): Round {
  const timesOf = (action: Action) => rounds.flatMap(({ times }) => times[action]);
  return {
    attack: rounds[0]!.attack,
    times: { create: timesOf("create"), exec: timesOf("exec"), keystroke: timesOf("keystroke"), webhook: timesOf("webhook") },
    refused: rounds.flatMap(({ refused }) => refused),
    longestStallMs: Math.max(...rounds.map(({ longestStallMs }) => longestStallMs)),
    serverMemoryMb: Math.max(...rounds.map(({ serverMemoryMb }) => serverMemoryMb)),
  };
}

export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
