import type { EventEmitter } from "node:events";
import { afterRunningTime } from "../io/running-time.ts";

// Tells a caller that disconnects from a pause, which closes all connections too. The work of a call ends with its caller, but goes on
// after a pause: memory and processes are kept.
export interface Pauses {
  // The server is about to pause the sandbox.
  begin(): void;
  // The session runs again. Also called without a pause.
  end(): void;
  readonly isUnderWay: boolean;
  // Calls back when a pause begins, until disposed.
  onBegin(listener: () => void): Disposable;
  // Calls back if the caller of this response or connection disconnects; not if a pause has closed it.
  onGone(connection: Pick<EventEmitter, "once">, listener: () => void): void;
}

// A pause that has not frozen the daemon by then has failed.
const MAX_PAUSING_MS = 5_000;

export function createPauses(): Pauses {
  const listeners = new Set<() => void>();
  let cancel: (() => void) | null = null;
  // Counts the pauses. The connections from before one may be found closed only after the resume.
  let pauses = 0;

  function forget(): void {
    cancel?.();
    cancel = null;
  }

  return {
    begin() {
      forget();
      cancel = afterRunningTime(MAX_PAUSING_MS, forget);
      for (const listener of listeners) listener();
    },
    end() {
      if (cancel) pauses++;
      forget();
    },
    get isUnderWay() {
      return cancel !== null;
    },
    onBegin(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    onGone(connection, listener) {
      const before = pauses;
      connection.once("close", () => {
        if (!cancel && before === pauses) listener();
      });
    },
  };
}
