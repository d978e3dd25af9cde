import type fc from "fast-check";

// An interface that receives bytes from an untrusted party. A case is a plan, which is plain data generated from a seed, and one
// exchange with the server that executes it.
export interface Target<Plan = unknown> {
  name: string;
  plan: fc.Arbitrary<Plan>;
  // Returns how the server misbehaved, or undefined. Throws only if the case could not run.
  run(plan: Plan, context: CaseContext): Promise<Finding | undefined>;
  // Cases that run at the same time.
  workers: number;
  // How long a case may take before it counts as a hang.
  deadlineMs: number;
}

// A target whose plans only it understands.
export type AnyTarget = Target<never>;
export const defineTarget = <Plan>(target: Target<Plan>): AnyTarget => target as unknown as AnyTarget;

export interface CaseContext {
  // The worker of the target that runs the case.
  worker: number;
  // Unique within the run, so that both sides of an exchange can be matched.
  caseId: string;
  // Aborted at the end of the case, which closes everything that it opened.
  signal: AbortSignal;
}

export type FindingKind = "crash" | "5xx" | "hang" | "wrong answer";

export interface Finding {
  kind: FindingKind;
  // One line; findings with the same kind and sentence are the same fault.
  sentence: string;
}

// A server under test.
export interface World extends AsyncDisposable {
  // Whether the server has ended unexpectedly.
  readonly isDown: boolean;
  // Why the server ended.
  lastWords(): Promise<string>;
  sample(): Promise<ServerSample>;
}

export interface ServerSample {
  rssBytes: number;
  // The heap after a garbage collection.
  heapBytes: number;
  openFiles: number;
  // Handles and requests that keep the server busy, by kind.
  resources: Record<string, number>;
  // The longest stall of its event loop since the last sample.
  longestStallMs: number;
}
