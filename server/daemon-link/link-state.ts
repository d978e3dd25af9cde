import type { Socket } from "node:net";
import type { Client, Pool } from "undici";
import { unreachable } from "./link-errors.ts";

// All connections to one daemon.
export interface DaemonLink {
  ended: AbortController;
  dial: () => Promise<Socket>;
  pool: Pool;
  // The connection of `prepare`, until the first request uses it.
  prepared: { client: Client; isReady: boolean } | undefined;
  token: string | undefined;
  // Requests whose response has not begun, and open WebSocket connections.
  inFlight: number;
  sockets: number;
}

export function closeLink(link: DaemonLink): void {
  const reason = unreachable("the connection was closed");
  link.ended.abort(reason);
  void link.pool.destroy(reason);
  void link.prepared?.client.destroy(reason);
}
