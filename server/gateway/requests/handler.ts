import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

// A part of the gateway that serves the requests below some path or host.
export interface Handler {
  request(request: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}
