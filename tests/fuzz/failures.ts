import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Finding } from "./target.ts";

export interface Failure {
  target: string;
  // The number of the case within its target.
  number: number;
  plan: unknown;
  finding: Finding;
  // How often the failure occurred.
  count: number;
  // The smallest plan that fails in the same way.
  minimal?: unknown;
}

export interface FailureLog {
  add(failure: Omit<Failure, "count">): void;
  // Returns one failure of each kind.
  list(): Failure[];
}

// A long run finds the same fault thousands of times, and keeps only the first case.
export function createFailureLog(): FailureLog {
  const failures = new Map<string, Failure>();
  return {
    add(failure) {
      const key = [failure.target, failure.finding.kind, failure.finding.sentence.replaceAll(/[0-9a-z]{20,}|\d+/g, "#")].join("\n");
      const known = failures.get(key);
      if (known) known.count++;
      else failures.set(key, { ...failure, count: 1 });
    },
    list: () => [...failures.values()],
  };
}

export interface Reproducer {
  seed: number;
  target: string;
  number: number;
  finding: Finding;
  plan: unknown;
}

// Returns the path of the file.
export async function writeReproducer(folder: string, seed: number, failure: Failure): Promise<string> {
  await mkdir(folder, { recursive: true });
  const { target, number, finding, plan, minimal = plan } = failure;
  const path = join(folder, `${target.replaceAll(/\W+/g, "-")}-${seed}-${number}.json`);
  await writeFile(path, JSON.stringify({ seed, target, number, finding, plan: minimal } satisfies Reproducer, null, 2));
  return path;
}
