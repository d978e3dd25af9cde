import type { EventEmitter } from "node:events";

export interface CoverableStream extends EventEmitter {
  destroy(): unknown;
}

// Adds streams to a connection. A failure destroys all of them.
export type Cover = (...streams: CoverableStream[]) => void;

// Contains the failures of one connection: a throw in a listener of its streams ends the connection. Without it, the throw would end
// the daemon, and the whole sandbox with it.
//
// A covered stream catches errors in `emit` and not in each `on`, so that listeners of Node and of libraries are covered too.
export function coverConnection(...first: CoverableStream[]): Cover {
  const covered: CoverableStream[] = [];

  function fail(error: unknown): void {
    console.error("A connection failed:", error);
    for (const stream of covered) stream.destroy();
  }

  function cover(...streams: CoverableStream[]): void {
    for (const stream of streams) {
      covered.push(stream);
      const emit = stream.emit.bind(stream);
      stream.emit = (event: string | symbol, ...values: unknown[]): boolean => {
        // The peer disconnected while no handler listened. This is normal and not logged.
        if (event === "error" && stream.listenerCount("error") === 0) return (stream.destroy(), false);
        try {
          return emit(event, ...values);
        } catch (error) {
          fail(error);
          return true;
        }
      };
    }
  }

  cover(...first);
  return cover;
}
