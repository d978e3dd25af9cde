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

export function matchPath(path: string, segments: string[]): Record<string, string> | null {
  const parts = path.slice(1).split("/");
  const matchesRest = parts.at(-1) === "*";
  if (matchesRest ? segments.length < parts.length - 1 : segments.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    if (part === "*") break;
    const segment = segments[index] ?? "";
    if (part.startsWith(":")) params[part.slice(1)] = segment;
    else if (part !== segment) return null;
  }
  return params;
}
