import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Cover } from "./boundary.ts";
import { badRequest } from "./errors.ts";

// The daemon has its own minimal router: a table of routes, matched segment by segment.
export interface Route {
  method: string;
  // `:name` matches one segment. A final `*` matches the rest, including nothing.
  path: string;
  handle(call: Call): Promise<void> | void;
}

export interface UpgradeRoute {
  path: string;
  upgrade(call: Upgrade): Promise<void> | void;
}

export interface Call {
  request: IncomingMessage;
  response: ServerResponse;
  // The decoded segments that matched `:name`.
  params: Record<string, string>;
  query: URLSearchParams;
  // Adds the streams of another party to this connection, so that a failure in one of their listeners ends only the connection.
  cover: Cover;
  // Calls back if the caller disconnects; not if a pause has closed the connection.
  onGone(listener: () => void): void;
}

export interface Upgrade extends Omit<Call, "response" | "onGone"> {
  socket: Duplex;
  head: Buffer;
}

export interface Target {
  segments: string[];
  query: URLSearchParams;
}

// `new URL` does not fit: it reads the start of "//x/y" as a host and normalizes "/a/../b".
export function parseTarget(target: string): Target {
  const mark = target.indexOf("?");
  const path = mark === -1 ? target : target.slice(0, mark);
  try {
    const segments = path.slice(1).split("/").map(decodeURIComponent);
    return { segments, query: new URLSearchParams(mark === -1 ? "" : target.slice(mark + 1)) };
  } catch {
    throw badRequest("The path contains an invalid percent-encoding");
  }
}

// Returns a function that matches segments with the path of a route. Every request tries many routes, so the path is split only once.
export function pathMatcher(path: string): (segments: readonly string[]) => Record<string, string> | null {
  const parts = path.slice(1).split("/");
  const matchesRest = parts.at(-1) === "*";
  const compared = matchesRest ? parts.length - 1 : parts.length;
  return (segments) => {
    if (matchesRest ? segments.length < compared : segments.length !== compared) return null;
    for (let index = 0; index < compared; index++) if (!isParameter(parts[index]!) && parts[index] !== segments[index]) return null;
    return Object.fromEntries(parts.flatMap((part, index) => (isParameter(part) ? [[part.slice(1), segments[index] ?? ""]] : [])));
  };
}

const isParameter = (part: string): boolean => part.startsWith(":");
