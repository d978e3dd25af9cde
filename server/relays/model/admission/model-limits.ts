import type { SandboxId } from "@berth/contract";
import { MINUTE, SECOND, type Clock } from "../../../clock.ts";
import { createFairShare } from "../../../fairness/fair-share.ts";
import { createKeyedLock } from "../../../fairness/keyed-lock.ts";
import { createTokenBuckets, fillTimeMs } from "../../../fairness/token-bucket.ts";
import { ModelRefusal } from "./model-refusal.ts";

// Limits the use of the relay by one sandbox and by all sandboxes together. Refused requests count too, because the server has
// read and checked their bytes.
export interface ModelLimits {
  // Counts a request. Throws if the sandbox sent too many requests or bytes in the last minute, or has too many in progress.
  // Dispose of the result when the request is answered.
  admit(sandboxId: SandboxId): Disposable;
  // Waits until no other body of the sandbox is in memory, or until the caller disconnects. A stalled upload delays only its own
  // sandbox.
  takeBodySlot(sandboxId: SandboxId, disconnected: AbortSignal): Promise<BodySlot>;
}

export interface BodySlot extends Disposable {
  // Counts bytes as they are read. Throws if all sandboxes together hold too many.
  add(bytes: number): void;
  // Stops counting the bytes so far, because they were dropped.
  release(): void;
}

export interface ModelLimitsOptions {
  clock: Clock;
  // 0: no limit.
  requestsPerMinute: number;
  maxBodyBytes: number;
  maxConcurrent?: number;
  maxWaitingBytes?: number;
}

// In bodies of the largest size. Checking them takes a few seconds of CPU time.
const BODIES_PER_MINUTE = 32;

export function createModelLimits(options: ModelLimitsOptions): ModelLimits {
  const { clock, requestsPerMinute, maxBodyBytes, maxConcurrent = 16, maxWaitingBytes = 256 * 1024 * 1024 } = options;
  const requestsOf = createTokenBuckets<SandboxId>(() => clock.now());
  const bytesOf = createTokenBuckets<SandboxId>(() => clock.now());
  const requestSize = { capacity: requestsPerMinute, fillMs: MINUTE };
  const byteSize = { capacity: BODIES_PER_MINUTE * maxBodyBytes, fillMs: MINUTE };
  const inProgress = createFairShare<SandboxId>({ maxPerHolder: maxConcurrent });
  const lockBody = createKeyedLock();
  let waitingBytes = 0;

  function slotOf(sandboxId: SandboxId, leave: () => void): BodySlot {
    let held = 0;
    const release = () => {
      waitingBytes -= held;
      held = 0;
    };
    return {
      add(bytes) {
        bytesOf(sandboxId, byteSize).tokens -= bytes;
        if (waitingBytes + bytes > maxWaitingBytes)
          throw new ModelRefusal(503, "busy", "The model relay is busy. Try again in a moment.", 1);
        held += bytes;
        waitingBytes += bytes;
      },
      release,
      [Symbol.dispose]() {
        release();
        leave();
      },
    };
  }

  return {
    admit(sandboxId) {
      if (requestsPerMinute > 0) {
        const [requests, bytes] = [requestsOf(sandboxId, requestSize), bytesOf(sandboxId, byteSize)];
        if (requests.tokens < 1) throw tooMany("Too many requests to the model per minute", fillTimeMs(1 - requests.tokens, requestSize));
        if (bytes.tokens <= 0) throw tooMany("Too many bytes to the model per minute", fillTimeMs(1 - bytes.tokens, byteSize));
        requests.tokens--;
      }
      const slot = inProgress.take(sandboxId);
      if (!slot) throw new ModelRefusal(429, "too_many_requests", "Too many requests to the model at once", 1);
      return slot;
    },
    takeBodySlot: (sandboxId, disconnected) =>
      new Promise((resolve, reject) => {
        const { promise: over, resolve: leave } = Promise.withResolvers<void>();
        const enter = () => {
          resolve(slotOf(sandboxId, leave));
          return over;
        };
        lockBody(sandboxId, enter, disconnected).catch(reject);
      }),
  };
}

const tooMany = (message: string, waitMs: number) =>
  new ModelRefusal(429, "rate_limit_exceeded", message, Math.max(1, Math.ceil(waitMs / SECOND)));
