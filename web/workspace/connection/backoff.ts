export interface Backoff {
  nextMs(): number;
  reset(): void;
}

// Exponential backoff with jitter: each delay is shortened at random by up to half, so that pages that lost their
// connection together do not reconnect together.
export function createBackoff({ firstMs = 250, maxMs = 8000, random = Math.random } = {}): Backoff {
  let attempts = 0;
  return {
    nextMs() {
      const fullMs = Math.min(maxMs, firstMs * 2 ** attempts++);
      return Math.round(fullMs * (1 - random() / 2));
    },
    reset() {
      attempts = 0;
    },
  };
}
