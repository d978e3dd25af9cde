import { createConnection, createServer, type Server, type Socket } from "node:net";
import { type Cover, runCovered } from "../http/boundary.ts";
import { joinSockets } from "../http/forward.ts";
import { listen } from "../http/listen.ts";

// Forwards connections from a loopback port to the server's egress proxy, byte for byte. The proxy enforces the policy.
export interface EgressForwarder extends Disposable {
  // The proxy URL for programs in the sandbox; undefined if the sandbox has no egress.
  readonly url: string | undefined;
}

export const EGRESS_PORT = 3128;

// `target` is the path of a Unix socket or, where sandboxes have their own network, host:port. On a TCP target every
// connection starts with the token that the server gave this sandbox; until the token arrives, connections are closed.
export function openEgressForwarder(target: string | undefined, token: () => string | undefined, port = EGRESS_PORT): EgressForwarder {
  if (target === undefined || target === "") return { url: undefined, [Symbol.dispose]() {} };
  const address = parseTarget(target);
  const forward = (inner: Socket, cover: Cover) => {
    const firstLine = "path" in address ? "" : token();
    if (firstLine === undefined) return void inner.destroy();
    const outer = createConnection({ ...address, allowHalfOpen: true });
    cover(outer);
    if (firstLine !== "") outer.write(`${firstLine}\n`);
    joinSockets(inner, outer);
  };
  const server = createServer({ allowHalfOpen: true }, (inner) => runCovered(inner, (cover) => forward(inner, cover)));
  open(server, port);
  return {
    get url() {
      const bound = server.address();
      return typeof bound === "object" && bound ? `http://127.0.0.1:${bound.port}` : undefined;
    },
    [Symbol.dispose]: () => void server.close(),
  };
}

// Sandboxes of the process driver share the loopback interface, so only one of them gets the usual port.
function open(server: Server, port: number): void {
  server.once("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EADDRINUSE" && port !== 0) open(server, 0);
    else console.error("The egress forwarder could not listen:", error.message);
  });
  listen(server, { host: "127.0.0.1", port });
}

function parseTarget(target: string): { path: string } | { host: string; port: number } {
  if (target.startsWith("/")) return { path: target };
  const colon = target.lastIndexOf(":");
  return { host: target.slice(0, colon), port: Number(target.slice(colon + 1)) };
}
