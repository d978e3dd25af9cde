import { createConnection, createServer, type Server } from "node:net";
import { listen } from "../http/listen.ts";

// The way out of the sandbox: bytes that arrive on a loopback port go to the server's egress socket as they are, and
// the policy is decided there. `target` is a socket's path, or host:port where sandboxes have a network of their own; there
// a connection begins with the pass that the server gave this sandbox, and without one there is no way out yet.
export interface EgressPipe extends Disposable {
  // What programs in the sandbox use as their proxy; undefined when there is no way out.
  readonly url: string | undefined;
}

export const EGRESS_PORT = 3128;

export function openEgressPipe(target: string | undefined, pass: () => string | undefined, port = EGRESS_PORT): EgressPipe {
  if (target === undefined || target === "") return { url: undefined, [Symbol.dispose]() {} };
  const address = parseTarget(target);
  const server = createServer({ allowHalfOpen: true }, (inner) => {
    const shown = "path" in address ? "" : pass();
    if (shown === undefined) return void inner.destroy();
    const outer = createConnection({ ...address, allowHalfOpen: true });
    if (shown !== "") outer.write(`${shown}\n`);
    inner.pipe(outer).pipe(inner);
    inner.on("error", () => outer.destroy());
    outer.on("error", () => inner.destroy());
    inner.on("close", () => outer.destroy());
    outer.on("close", () => inner.destroy());
  });
  open(server, port);
  return {
    get url() {
      const bound = server.address();
      return typeof bound === "object" && bound ? `http://127.0.0.1:${bound.port}` : undefined;
    },
    [Symbol.dispose]: () => void server.close(),
  };
}

// Sandboxes without a network of their own share the loopback (process driver): the second one takes any free port.
function open(server: Server, port: number): void {
  server.once("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EADDRINUSE" && port !== 0) open(server, 0);
    else console.error("The way out could not be opened:", error.message);
  });
  listen(server, { host: "127.0.0.1", port });
}

function parseTarget(target: string): { path: string } | { host: string; port: number } {
  if (target.startsWith("/")) return { path: target };
  const colon = target.lastIndexOf(":");
  return { host: target.slice(0, colon), port: Number(target.slice(colon + 1)) };
}
