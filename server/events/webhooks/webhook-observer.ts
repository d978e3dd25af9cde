// Receives the results of attempts, for the metrics.
export interface WebhookObserver {
  attempted(attempt: FinishedAttempt): void;
}

export interface FinishedAttempt {
  // `retried`: failed, and there will be another attempt. `failed`: this was the last one.
  outcome: "delivered" | "retried" | "failed";
  seconds: number;
  // The time since the delivery was queued.
  delaySeconds: number;
}
