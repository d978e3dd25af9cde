import type { SandboxId } from "@berth/contract";
import { MINUTE, type Clock } from "../../../clock.ts";
import { ModelRefusal } from "./model-refusal.ts";

// What one sandbox may take of the relay, and all of them together. Every request counts, also one that is refused: its
// bytes were read and checked like any other's.
export interface ModelLimits {
  // Counts one request. Throws when the sandbox has had too many, or too many bytes, in the last minute, or has too many
  // under way. Dispose of the result when the request has been answered.
  admit(sandboxId: SandboxId): Disposable;
  // Waits until no other body of the sandbox is in memory, or until the caller hangs up. A body that stops halfway holds
  // up its own sandbox alone.
  takeBodySlot(sandboxId: SandboxId, hungUp: AbortSignal): Promise<BodySlot>;
}

export interface BodySlot extends Disposable {
  // Counts bytes as they are read. Throws when all sandboxes together hold too many.
  add(bytes: number): void;
  // The bytes read so far are not kept.
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

// A minute's worth of the largest bodies: some seconds of processor time for a sandbox that does nothing else.
const BODIES_PER_MINUTE = 32;

interface Share {
  underWay: number;
  requests: number;
  bytes: number;
  refilledAtMs: number;
  // The first has the body slot; the others wait.
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
        if (share.requests < 1) throw tooMany("Too many requests to the model in a minute", (1 - share.requests) / requestsPerMinute);
        if (share.bytes <= 0) throw tooMany("Too many bytes to the model in a minute", (1 - share.bytes) / bytesPerMinute);
      }
      share.requests--;
      if (share.underWay >= maxConcurrent) throw new ModelRefusal(429, "too_many_requests", "Too many requests to the model at once", 1);
      share.underWay++;
      return { [Symbol.dispose]: () => void share.underWay-- };
    },
    async takeBodySlot(sandboxId, hungUp) {
      const share = shareOf(sandboxId);
      await waitForTurn(share.bodies, hungUp);
      let held = 0;
      const release = () => {
        waitingBytes -= held;
        held = 0;
      };
      return {
        add(bytes) {
          share.bytes -= bytes;
          if (waitingBytes + bytes > maxWaitingBytes)
            throw new ModelRefusal(503, "busy", "Too much is on its way to the model; try again in a moment", 1);
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
      share = { underWay: 0, requests: requestsPerMinute, bytes: bytesPerMinute, refilledAtMs: nowMs, bodies: [] };
      shares.set(sandboxId, share);
    }
    const minutes = Math.max(0, nowMs - share.refilledAtMs) / MINUTE;
    share.requests = Math.min(requestsPerMinute, share.requests + minutes * requestsPerMinute);
    share.bytes = Math.min(bytesPerMinute, share.bytes + minutes * bytesPerMinute);
    share.refilledAtMs = nowMs;
    return share;
  }

  // Forgets sandboxes that have asked for nothing in a while: by then their share is whole again.
  function sweep(): void {
    const nowMs = clock.now();
    if (nowMs - sweptAtMs < MINUTE) return;
    sweptAtMs = nowMs;
    for (const [sandboxId, { underWay, refilledAtMs }] of shares)
      if (underWay === 0 && nowMs - refilledAtMs > 2 * MINUTE) shares.delete(sandboxId);
  }
}

const tooMany = (message: string, minutes: number) =>
  new ModelRefusal(429, "rate_limit_exceeded", message, Math.max(1, Math.ceil(minutes * 60)));

// Resolves when those that came before have left.
async function waitForTurn(queue: (() => void)[], hungUp: AbortSignal): Promise<void> {
  hungUp.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  queue.push(resolve);
  if (queue[0] === resolve) return;
  const leave = () => {
    const place = queue.indexOf(resolve);
    // At the front it has its turn already, and passes it on by disposing of it.
    if (place > 0) queue.splice(place, 1);
    resolve();
  };
  hungUp.addEventListener("abort", leave);
  await promise;
  hungUp.removeEventListener("abort", leave);
  if (queue[0] !== resolve) hungUp.throwIfAborted();
}
