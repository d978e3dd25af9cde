export interface Backoff {
  nextMs(): number;
  reset(): void;
}

// How long to wait before trying again: doubling up to a limit, each delay shortened at random by up to half so that
// many pages cut off at the same moment do not all come back at the same moment.
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
