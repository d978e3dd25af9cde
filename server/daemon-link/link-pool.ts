import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { type buildConnector, Client, Pool } from "undici";
import { DAY } from "../clock.ts";
import { MAX_HEADER_BYTES } from "./link-upgrade.ts";

const MAX_CONNECTIONS = 64;

// How long an unused connection is kept. The daemon can ask for less, not for more.
export const KEEP_ALIVE_MS = 10_000;
const KEEP_PREPARED_MS = DAY;
// Notices that the other machine is gone. No effect on a Unix socket.
const PROBE_AFTER_MS = 15_000;

// A pool of HTTP connections to one daemon.
export function openPool(dial: Dial, headersTimeoutMs: number): Pool {
  return new Pool("http://sandbox", {
    ...optionsOf(dial, headersTimeoutMs),
    connections: MAX_CONNECTIONS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
  });
}

// A single connection that stays open although nothing uses it.
export function openClient(dial: Dial, headersTimeoutMs: number): Client {
  const dialProbed = async () => (await dial()).setKeepAlive(true, PROBE_AFTER_MS);
  return new Client("http://sandbox", {
    ...optionsOf(dialProbed, headersTimeoutMs),
    keepAliveTimeout: KEEP_PREPARED_MS,
    keepAliveMaxTimeout: KEEP_PREPARED_MS,
  });
}

type Dial = () => Promise<Socket>;

const optionsOf = (dial: Dial, headersTimeoutMs: number) => ({
  connect: ((_options, done) => void connectWith(dial, done)) satisfies buildConnector.connector,
  pipelining: 1,
  allowH2: false,
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: headersTimeoutMs,
});

// Converts undici's headers, in place, to the form of node:http: a list for Set-Cookie, one string for every other name. undici returns a
// list for any repeated name, and a string for a Set-Cookie that occurs once.
export function toNodeHeaders(headers: Record<string, string | string[] | undefined>): IncomingHttpHeaders {
  for (const name in headers) {
    const value = headers[name];
    if (name === "set-cookie") headers[name] = [value ?? []].flat();
    else if (Array.isArray(value)) headers[name] = value.join(", ");
  }
  return headers as IncomingHttpHeaders;
}

async function connectWith(dial: Dial, done: buildConnector.Callback): Promise<void> {
  let socket: Socket;
  try {
    socket = await dial();
  } catch (error) {
    done(error instanceof Error ? error : new Error(String(error)), null);
    return;
  }
  done(null, socket);
}
