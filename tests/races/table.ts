import { CALLS } from "./calls.ts";
import type { Round } from "./rounds.ts";

// Counts rounds and violations for each pair of calls.
export interface Table {
  add(round: Round): void;
  rounds(): number;
  violations(): number;
  // A row for each first call and a column for each second one, with the number of violations; a point stands for no round.
  format(): string;
}

export function createTable(): Table {
  const names = Object.keys(CALLS);
  const counts = new Map<string, { rounds: number; violations: number }>();
  const keyOf = (first: string, second: string) => `${first}|${second}`;
  const sum = (field: "rounds" | "violations") => [...counts.values()].reduce((total, count) => total + count[field], 0);

  return {
    add({ pair: { first, second }, violation }) {
      const key = keyOf(first, second);
      const count = counts.get(key) ?? { rounds: 0, violations: 0 };
      counts.set(key, { rounds: count.rounds + 1, violations: count.violations + (violation === null ? 0 : 1) });
    },
    rounds: () => sum("rounds"),
    violations: () => sum("violations"),
    format() {
      const numbers = names.map((_, index) => String(index + 1).padStart(3)).join("");
      const rows = names.map((first, index) => {
        const cells = names.map((second) => String(counts.get(keyOf(first, second))?.violations ?? ".").padStart(3)).join("");
        return `${String(index + 1).padStart(2)} ${first.padEnd(20)}${cells}`;
      });
      return [`   ${"first \\ second".padEnd(20)}${numbers}`, ...rows].join("\n");
    },
  };
}
