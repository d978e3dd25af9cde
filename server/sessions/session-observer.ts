import { isAppError } from "@berth/contract";
import type { Step } from "../store/sessions/session.ts";

// Receives the operations on sessions, for the metrics.
export interface SessionObserver {
  // A call that changed a session, or tried to, as its caller saw it.
  called(call: FinishedCall): void;
  // A step's work on a sandbox: of a call, a timer, the pool or reconciliation.
  stepped(step: FinishedStep): void;
  // A create looked for a warm sandbox.
  looked(template: string, found: "warm" | "none"): void;
  // Reconciliation found a difference between store and engine.
  found(kind: string): void;
}

export interface FinishedCall {
  operation: "create" | "pause" | "resume" | "wake" | "destroy";
  start: Start;
  outcome: CallOutcome;
  seconds: number;
}

export interface FinishedStep {
  step: Step;
  outcome: CallOutcome;
  seconds: number;
}

// A create with a sandbox of the pool and a resume of a sandbox that kept its memory are warm. `none`: the operation starts
// nothing, or failed before it was known.
export type Start = "warm" | "cold" | "none";

// `refused`: the caller's fault, or there is no room.
export type CallOutcome = "ok" | "refused" | "failed";

export const ignoreAll: SessionObserver = { called() {}, stepped() {}, looked() {}, found() {} };

export const outcomeOfError = (error: unknown): CallOutcome =>
  isAppError(error) && (error.status < 500 || error.code === "capacity_reached") ? "refused" : "failed";

export const secondsSince = (startedMs: number): number => (performance.now() - startedMs) / 1000;
