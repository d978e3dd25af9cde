import type { Socket } from "node:net";
import type { Client, Pool } from "undici";
import type { CoverableStream } from "../faults/connection-boundary.ts";
import { unreachable } from "./link-errors.ts";
import { KEEP_ALIVE_MS } from "./link-pool.ts";

// All connections to one daemon.
export interface DaemonLink {
  ended: AbortController;
  dial: () => Promise<Socket>;
  // Covers the body of a response.
  cover: (body: CoverableStream) => void;
  pool: Pool;
  // The connection of `prepare`, until it was not used for a while.
  prepared: Prepared | undefined;
  token: string | undefined;
  // Requests whose response has not begun, and open WebSocket connections.
  inFlight: number;
  sockets: number;
}

export interface Prepared {
  client: Client;
  isReady: boolean;
  // Whether the session has sent a request on it, and whether one is not over.
  isUsed: boolean;
  isBusy: boolean;
  idleTimer?: NodeJS.Timeout;
}

// Marks the connection as used by a request of the session, until the returned function is called. Later requests use it too: another
// connection would cost the daemon more than a request does.
export function usePrepared(link: DaemonLink, prepared: Prepared): () => void {
  Object.assign(prepared, { isReady: false, isUsed: true, isBusy: true });
  clearTimeout(prepared.idleTimer);
  prepared.idleTimer = setTimeout(() => {
    if (prepared.isBusy) return void prepared.idleTimer?.refresh();
    if (link.prepared === prepared) link.prepared = undefined;
    prepared.client.close().catch(() => {});
  }, KEEP_ALIVE_MS).unref();
  return () => void (prepared.isBusy = false);
}

export function closeLink(link: DaemonLink): void {
  const reason = unreachable("the connection was closed");
  link.ended.abort(reason);
  void link.pool.destroy(reason);
  void link.prepared?.client.destroy(reason);
}
