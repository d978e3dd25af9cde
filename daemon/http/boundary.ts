import type { EventEmitter } from "node:events";

export interface CoverableStream extends EventEmitter {
  destroy(): unknown;
}

// Adds streams to a connection. A failure destroys all of them.
export type Cover = (...streams: CoverableStream[]) => void;

// Contains the failures of one connection: a throw in a listener of its streams ends the connection and is counted in the log. Without it,
// the throw would end the daemon, and the whole sandbox with it.
//
// A covered stream catches errors in `emit` and not in each `on`, so that listeners of Node and of libraries are covered too.
export function coverConnection(...first: CoverableStream[]): Cover {
  const { cover } = createBoundary();
  cover(...first);
  return cover;
}

// Handles a new connection of raw bytes. A throw of the handler itself ends the connection too.
export function runCovered(socket: CoverableStream, handle: (cover: Cover) => void): void {
  const { cover, fail } = createBoundary();
  cover(socket);
  try {
    handle(cover);
  } catch (error) {
    fail(error);
  }
}

// Since the start of the daemon.
let failedConnections = 0;

function createBoundary(): { cover: Cover; fail: (error: unknown) => void } {
  const covered: CoverableStream[] = [];
  let failed = false;

  function fail(error: unknown): void {
    if (!failed) console.error(`A connection failed (${++failedConnections} so far):`, error);
    failed = true;
    for (const stream of covered) stream.destroy();
  }

  function cover(...streams: CoverableStream[]): void {
    for (const stream of streams) {
      covered.push(stream);
      if (failed) stream.destroy();
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

  return { cover, fail };
}
