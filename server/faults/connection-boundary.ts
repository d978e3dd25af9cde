import type { EventEmitter } from "node:events";
import { markWork, type LoopWork } from "../event-loop/loop-work.ts";
import type { Log } from "../log.ts";

// Contains the failures of one connection. A throw in a listener, a rejected handler or an `error` event without a listener
// closes this connection; without a boundary, each of them would end the process.
//
// A covered stream catches errors in `emit` and not in each `on`, so that listeners of Node and of libraries are covered too.
export interface ConnectionBoundary {
  // Adds streams (sockets, requests, responses). A failure destroys all of them that are open.
  cover(...streams: CoverableStream[]): void;
  // Runs a synchronous or asynchronous handler. Its failure closes the connection.
  run(handler: () => unknown): void;
}

export interface CoverableStream extends EventEmitter {
  readonly destroyed?: boolean;
  destroy(): unknown;
}

export interface ConnectionBoundaryOptions {
  log: Log;
  // The kind of connection, for the log, such as "egress".
  connection: string;
  // Ids for the log.
  fields?: object;
}

export function createConnectionBoundary({ log, connection, fields = {} }: ConnectionBoundaryOptions): ConnectionBoundary {
  // An array, because there are few. A set that changes with every request leaves old tables behind, and the objects that these refer to
  // survive collections of young objects.
  const open: CoverableStream[] = [];
  const work = { name: `${connection} connection` };
  let failed = false;

  function fail(error: unknown): void {
    if (!failed) log.error("connection.failed", { connection, ...fields, error: describe(error) });
    failed = true;
    for (const stream of open.slice()) stream.destroy();
  }

  const cover: Cover = { work, fail, closed: (stream) => removeFrom(open, stream) };

  function coverOne(stream: CoverableStream): void {
    if (open.includes(stream)) return;
    open.push(stream);
    // A stream of two boundaries fails in the first one.
    const first = (stream as CoveredStream)[COVER];
    coverWith(stream, first ? { ...first, closed: () => [first, cover].forEach(({ closed }) => closed(stream)) } : cover);
    if (failed) stream.destroy();
  }

  return {
    cover(...streams) {
      for (const stream of streams) coverOne(stream);
    },
    run(handler) {
      markWork(work);
      try {
        const outcome = handler();
        if (outcome instanceof Promise) outcome.catch(fail);
      } catch (error) {
        fail(error);
      }
    },
  };
}

// Covers streams that stand alone: a failure destroys its own stream only. Unlike a boundary for each, it costs a stream a single property.
export function createStreamCover({ log, connection, fields = {} }: ConnectionBoundaryOptions): (stream: CoverableStream) => void {
  const cover: Cover = {
    work: { name: `${connection} connection` },
    fail(error, stream) {
      if (!stream.destroyed) log.error("connection.failed", { connection, ...fields, error: describe(error) });
      stream.destroy();
    },
    closed() {},
  };
  return (stream) => coverWith(stream, cover);
}

function coverWith(stream: CoverableStream, cover: Cover): void {
  const covered = stream as CoveredStream;
  covered[COVER] = cover;
  if (stream.emit === emitCovered) return;
  covered[UNCOVERED_EMIT] = stream.emit;
  stream.emit = emitCovered;
}

// `splice` would make an array for every stream that closes.
function removeFrom(open: CoverableStream[], stream: CoverableStream): void {
  const index = open.indexOf(stream);
  const last = index >= 0 ? open.pop() : undefined;
  if (last && last !== stream) open[index] = last;
}

interface Cover {
  work: LoopWork;
  fail(error: unknown, stream: CoverableStream): void;
  closed(stream: CoverableStream): void;
}

const COVER = Symbol("cover");
const UNCOVERED_EMIT = Symbol("emit");

interface CoveredStream extends CoverableStream {
  [COVER]: Cover | undefined;
  [UNCOVERED_EMIT]: (event: string | symbol, ...values: unknown[]) => boolean;
}

// A subclass for streams of which there are many, such as requests. To cover one of them sets a single property; to replace its `emit` as
// well would cost more than the rest of the boundary.
export function coverableClass<Base extends new (...args: never[]) => CoverableStream>(base: Base): Base {
  const Coverable = class extends (base as unknown as new (...args: unknown[]) => CoverableStream) {};
  Object.assign(Coverable.prototype, { emit: emitCovered, [COVER]: undefined, [UNCOVERED_EMIT]: base.prototype.emit });
  return Coverable as unknown as Base;
}

// One function for all streams: two new ones for every request would cost more than the rest of the boundary.
function emitCovered(this: EventEmitter, event: string | symbol, ...values: unknown[]): boolean {
  const stream = this as CoveredStream;
  const cover = stream[COVER];
  if (!cover) return stream[UNCOVERED_EMIT](event, ...values);
  if (event === "close") cover.closed(stream);
  // The peer disconnected while no handler listened. This is normal and not logged.
  if (event === "error" && stream.listenerCount("error") === 0) {
    stream.destroy();
    return false;
  }
  // Names the work for a stall of the event loop, until the handler names it more exactly.
  if (INCOMING_EVENTS.has(event)) markWork(cover.work);
  try {
    return stream[UNCOVERED_EMIT](event, ...values);
  } catch (error) {
    cover.fail(error, stream);
    return true;
  }
}

// Events by which bytes of the peer reach a handler.
const INCOMING_EVENTS = new Set<string | symbol>(["data", "response", "information", "connect", "upgrade"]);

// Returns the boundary of a socket. Creates it for a new socket, and returns the same one for every later request on it.
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

// With the stack, because an error that gets here is a bug of the server.
const describe = (error: unknown) => String(error instanceof Error ? error.stack : error).slice(0, MAX_DESCRIPTION_LENGTH);
