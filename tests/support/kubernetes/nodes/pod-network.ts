import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

// The double's pods are processes of this machine, so their connections would come from 127.0.0.1. This proxy makes them come
// from the pod's own address, as in a cluster.
export interface PodNetwork extends AsyncDisposable {
  // The address under which a pod reaches `target` (host:port).
  route(podAddress: string, target: string): Promise<string>;
}

export function createPodNetwork(): PodNetwork {
  const closers = new Map<string, () => Promise<void>>();
  return {
    async route(podAddress, target) {
      const [host, port] = splitAddress(target);
      const route = `${podAddress}:${port}`;
      if (closers.has(route)) return route;
      const sockets = new Set<Socket>();
      const server = createServer({ allowHalfOpen: true }, (inner) => {
        const outer = connect({ host, port, localAddress: podAddress, allowHalfOpen: true });
        inner.pipe(outer).pipe(inner);
        for (const [socket, other] of [
          [inner, outer],
          [outer, inner],
        ] as const) {
          sockets.add(socket);
          socket.on("error", () => other.destroy()).on("close", () => void (sockets.delete(socket) && other.destroy()));
        }
      });
      await once(server.listen(port, podAddress), "listening");
      closers.set(route, async () => {
        const closed = once(server, "close");
        server.close();
        for (const socket of sockets) socket.destroy();
        await closed;
      });
      return route;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...closers.values()].map((close) => close()));
    },
  };
}

function splitAddress(target: string): [host: string, port: number] {
  const colon = target.lastIndexOf(":");
  return [target.slice(0, colon), Number(target.slice(colon + 1))];
}
