import { setTimeout as sleep } from "node:timers/promises";
import type { Attack } from "./attacks.ts";
import type { Installation } from "./installation.ts";
import { ACTIONS, type Victim } from "./victim.ts";

export interface Round {
  attack: string;
  // Milliseconds of each action, in the order in which they were taken.
  times: Record<(typeof ACTIONS)[number], number[]>;
  refused: string[];
  // The longest that the server's event loop stood still, and what the server used at the end.
  longestStallMs: number;
  serverMemoryMb: number;
}

// Lets an attack run and does what the victim does, over and over, for that many rounds of every action.
export async function measure(installation: Installation, victim: Victim, attack: Attack | null, rounds: number): Promise<Round> {
  const times = { create: [], exec: [], keystroke: [], webhook: [] } as Round["times"];
  const refused: string[] = [];
  const stop = new AbortController();
  const attacking = attack?.start(installation, stop.signal);
  try {
    // Until the attack is in full swing.
    if (attack) await sleep(1_000);
    // Reading resets the longest stall.
    await installation.metric("berth_nodejs_eventloop_lag_max_seconds");
    for (let round = 0; round < rounds; round++)
      for (const action of ACTIONS)
        await victim[action]().then(
          (ms) => times[action].push(ms),
          (error: unknown) => refused.push(`${action}: ${String(error)}`),
        );
    const longestStallMs = 1_000 * (await installation.metric("berth_nodejs_eventloop_lag_max_seconds"));
    const serverMemoryMb = (await installation.metric("berth_process_resident_memory_bytes")) / 2 ** 20;
    return { attack: attack?.name ?? "quiet", times, refused, longestStallMs, serverMemoryMb };
  } finally {
    stop.abort();
    await attacking?.catch(() => undefined);
  }
}

export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
