import type { SandboxId } from "@berth/contract";
import { MINUTE, type Clock } from "../../../clock.ts";
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

interface Share {
  inProgress: number;
  requests: number;
  bytes: number;
  refilledAtMs: number;
  // The queue for the body slot. The first entry holds it.
  bodies: (() => void)[];
}

export function createModelLimits(options: ModelLimitsOptions): ModelLimits {
  const { clock, requestsPerMinute, maxBodyBytes, maxConcurrent = 16, maxWaitingBytes = 256 * 1024 * 1024 } = options;
  const bytesPerMinute = BODIES_PER_MINUTE * maxBodyBytes;
  const shares = new Map<SandboxId, Share>();
  let waitingBytes = 0;
  let sweptAtMs = clock.now();

  return {
    admit(sandboxId) {
      sweep();
      const share = shareOf(sandboxId);
      if (requestsPerMinute > 0) {
        if (share.requests < 1) throw tooMany("Too many requests to the model per minute", (1 - share.requests) / requestsPerMinute);
        if (share.bytes <= 0) throw tooMany("Too many bytes to the model per minute", (1 - share.bytes) / bytesPerMinute);
      }
      share.requests--;
      if (share.inProgress >= maxConcurrent) throw new ModelRefusal(429, "too_many_requests", "Too many requests to the model at once", 1);
      share.inProgress++;
      return { [Symbol.dispose]: () => void share.inProgress-- };
    },
    async takeBodySlot(sandboxId, disconnected) {
      const share = shareOf(sandboxId);
      await waitForTurn(share.bodies, disconnected);
      let held = 0;
      const release = () => {
        waitingBytes -= held;
        held = 0;
      };
      return {
        add(bytes) {
          share.bytes -= bytes;
          if (waitingBytes + bytes > maxWaitingBytes)
            throw new ModelRefusal(503, "busy", "The model relay is busy. Try again in a moment.", 1);
          held += bytes;
          waitingBytes += bytes;
        },
        release,
        [Symbol.dispose]() {
          release();
          share.bodies.shift();
          share.bodies[0]?.();
        },
      };
    },
  };

  function shareOf(sandboxId: SandboxId): Share {
    const nowMs = clock.now();
    let share = shares.get(sandboxId);
    if (!share) {
      share = { inProgress: 0, requests: requestsPerMinute, bytes: bytesPerMinute, refilledAtMs: nowMs, bodies: [] };
      shares.set(sandboxId, share);
    }
    const minutes = Math.max(0, nowMs - share.refilledAtMs) / MINUTE;
    share.requests = Math.min(requestsPerMinute, share.requests + minutes * requestsPerMinute);
    share.bytes = Math.min(bytesPerMinute, share.bytes + minutes * bytesPerMinute);
    share.refilledAtMs = nowMs;
    return share;
  }

  // Drops sandboxes that sent nothing for a while. Their limits are refilled by now.
  function sweep(): void {
    const nowMs = clock.now();
    if (nowMs - sweptAtMs < MINUTE) return;
    sweptAtMs = nowMs;
    for (const [sandboxId, { inProgress, refilledAtMs }] of shares)
      if (inProgress === 0 && nowMs - refilledAtMs > 2 * MINUTE) shares.delete(sandboxId);
  }
}

const tooMany = (message: string, minutes: number) =>
  new ModelRefusal(429, "rate_limit_exceeded", message, Math.max(1, Math.ceil(minutes * 60)));

// Resolves when all earlier entries of the queue have left.
async function waitForTurn(queue: (() => void)[], disconnected: AbortSignal): Promise<void> {
  disconnected.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  queue.push(resolve);
  if (queue[0] === resolve) return;
  const leave = () => {
    const index = queue.indexOf(resolve);
    // The first entry has its turn already and leaves by disposing of its slot.
    if (index > 0) queue.splice(index, 1);
    resolve();
  };
  disconnected.addEventListener("abort", leave);
  await promise;
  disconnected.removeEventListener("abort", leave);
  if (queue[0] !== resolve) disconnected.throwIfAborted();
}
