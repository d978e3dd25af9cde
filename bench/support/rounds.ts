// One of the things that are compared. A round returns the values that it measured.
export interface Contestant {
  name: string;
  round(): Promise<number[]>;
}

export interface RoundOptions {
  rounds: number;
  // Rounds before those that count, in which code is compiled and caches are filled.
  warmUps?: number;
  // Whether to end after the current round.
  isOver?: () => boolean;
}

// Alternates between the contestants, so that a change of the machine's load affects all of them. Each round begins with another
// one. Returns each contestant's values in the order of the rounds.
export async function alternate(
  contestants: readonly Contestant[],
  { rounds, warmUps = 0, isOver = () => false }: RoundOptions,
): Promise<ReadonlyMap<string, number[]>> {
  const values = new Map(contestants.map(({ name }) => [name, [] as number[]]));
  for (let round = -warmUps; round < rounds; round++) {
    const first = (round + warmUps) % contestants.length;
    for (const contestant of [...contestants.slice(first), ...contestants.slice(0, first)]) {
      const measured = await contestant.round();
      if (round >= 0) values.get(contestant.name)!.push(...measured);
    }
    if (round >= 0 && isOver()) break;
  }
  return values;
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

// Calls `work` again and again, one call after the other, and returns the milliseconds of each.
export async function timedInSequence(count: number, work: (index: number) => Promise<unknown>): Promise<number[]> {
  const taken: number[] = [];
  for (let index = 0; index < count; index++) taken.push(await timed(() => work(index)));
  return taken;
}
