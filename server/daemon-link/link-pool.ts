import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { type buildConnector, Pool } from "undici";
import { MAX_HEADER_BYTES } from "./link-upgrade.ts";

const MAX_CONNECTIONS = 64;

// A pool of HTTP connections to one daemon.
export function openPool(dial: () => Promise<Socket>, headersTimeoutMs: number): Pool {
  return new Pool("http://sandbox", {
    connect: (_options, done) => void connectWith(dial, done),
    connections: MAX_CONNECTIONS,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headersTimeoutMs,
    keepAliveTimeout: 4_000,
    // The daemon can ask for a shorter keep-alive, not for a longer one.
    keepAliveMaxTimeout: 10_000,
  });
}

// Converts undici's headers to the form of node:http: a list for Set-Cookie, one string for every other name. undici returns a
// list for any repeated name, and a string for a Set-Cookie that occurs once.
export function toNodeHeaders(headers: Record<string, string | string[] | undefined>): IncomingHttpHeaders {
  const converted: IncomingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    if (name === "set-cookie") converted[name] = [value].flat();
    else converted[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return converted;
}

async function connectWith(dial: () => Promise<Socket>, done: buildConnector.Callback): Promise<void> {
  let socket: Socket;
  try {
    socket = await dial();
  } catch (error) {
    done(error instanceof Error ? error : new Error(String(error)), null);
    return;
  }
  done(null, socket);
}
