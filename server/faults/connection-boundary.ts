import type { EventEmitter } from "node:events";
import type { Log } from "../log.ts";

// One boundary around everything that the bytes of one connection set off. A throw in a listener, a rejected handler and
// an `error` event without a listener end this connection; outside a boundary each of them ends the process.
//
// Covered streams catch at `emit`, not at each `on`: listeners that Node, a library or a later change adds are inside too.
export interface ConnectionBoundary {
  // Puts streams (sockets, requests, responses) inside. All that are still open are destroyed when the boundary fails.
  cover(...streams: CoverableStream[]): void;
  // Runs a handler, synchronous or asynchronous, inside.
  run(handler: () => unknown): void;
}

export interface CoverableStream extends EventEmitter {
  destroy(): unknown;
}

export interface ConnectionBoundaryOptions {
  log: Log;
  // Which kind of connection this is, for the log: "egress", "gateway" …
  connection: string;
  // Ids for the log.
  fields?: object;
}

export function createConnectionBoundary({ log, connection, fields = {} }: ConnectionBoundaryOptions): ConnectionBoundary {
  const open = new Set<CoverableStream>();
  let failed = false;

  function fail(error: unknown): void {
    if (!failed) log.error("connection.failed", { connection, ...fields, error: describe(error) });
    failed = true;
    for (const stream of open) stream.destroy();
  }

  function coverOne(stream: CoverableStream): void {
    if (open.has(stream)) return;
    open.add(stream);
    const emit = stream.emit.bind(stream);
    stream.emit = (event: string | symbol, ...values: unknown[]): boolean => {
      if (event === "close") open.delete(stream);
      // The peer has hung up where no handler waits for it. This happens every day and is not worth a line in the log.
      if (event === "error" && stream.listenerCount("error") === 0) {
        stream.destroy();
        return false;
      }
      try {
        return emit(event, ...values);
      } catch (error) {
        fail(error);
        return true;
      }
    };
    if (failed) stream.destroy();
  }

  return {
    cover: (...streams) => streams.forEach(coverOne),
    run(handler) {
      try {
        const outcome = handler();
        if (outcome instanceof Promise) outcome.catch(fail);
      } catch (error) {
        fail(error);
      }
    },
  };
}

// The boundary of each connection, by its socket: made when the socket is first seen, and found again for every later
// request on it.
export function createConnectionBoundaries(options: ConnectionBoundaryOptions): (socket: CoverableStream) => ConnectionBoundary {
  const boundaries = new WeakMap<CoverableStream, ConnectionBoundary>();
  return (socket) => {
    const known = boundaries.get(socket);
    if (known) return known;
    const boundary = createConnectionBoundary(options);
    boundary.cover(socket);
    boundaries.set(socket, boundary);
    return boundary;
  };
}

const MAX_DESCRIPTION_LENGTH = 2_000;

// With the stack: a throw that gets here is a fault of ours, and this line is all that is left of it.
const describe = (error: unknown) => String(error instanceof Error ? error.stack : error).slice(0, MAX_DESCRIPTION_LENGTH);
