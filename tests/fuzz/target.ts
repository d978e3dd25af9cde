import type fc from "fast-check";

// One thing that takes bytes from a party we do not trust. A case is a plan, which is plain data drawn from a seed, and one
// exchange with the server that carries it out.
export interface Target<Plan = unknown> {
  name: string;
  plan: fc.Arbitrary<Plan>;
  // What is wrong with how the server behaved; undefined when nothing is. Throws only when the case could not be run.
  run(plan: Plan, context: CaseContext): Promise<Complaint | undefined>;
  // Cases that run at the same time.
  workers: number;
  // How long a case may take before it counts as a hang.
  deadlineMs: number;
}

// A target whose plans only it understands.
export type AnyTarget = Target<never>;
export const defineTarget = <Plan>(target: Target<Plan>): AnyTarget => target as unknown as AnyTarget;

export interface CaseContext {
  // Which of the target's workers runs the case.
  worker: number;
  // Unique within the run, so that the two ends of an exchange find each other.
  caseId: string;
  // Aborted when the case is over: whatever it opened is closed then.
  signal: AbortSignal;
}

export type ComplaintKind = "crash" | "5xx" | "hang" | "wrong answer";

export interface Complaint {
  kind: ComplaintKind;
  // One line; complaints with the same kind and sentence are the same fault.
  sentence: string;
}

// A server under test.
export interface World extends AsyncDisposable {
  // The server has ended by itself.
  readonly isDown: boolean;
  // Why the server ended.
  lastWords(): Promise<string>;
  sample(): Promise<ServerSample>;
}

export interface ServerSample {
  rssBytes: number;
  // After a garbage collection.
  heapBytes: number;
  openFiles: number;
  // Handles and requests that keep the server busy, by kind.
  resources: Record<string, number>;
  // The longest time that its event loop stood still since the last sample.
  longestStallMs: number;
}
