import type { Server } from "node:http";

// Makes an HTTP server that never listens enforce its timeouts. Other servers accept the connections of an egress proxy and
// hand them over with `emit("connection")`, which Node documents. Node starts the check of `headersTimeout` only at the event
// `listening`, which it does not document; enforce-timeouts.test.ts fails if that changes.
export function enforceTimeouts(server: Server): void {
  server.emit("listening");
}
