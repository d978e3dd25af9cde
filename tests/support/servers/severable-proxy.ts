import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

// A TCP proxy between the browser and the server. `sever` breaks every connection through it and refuses new ones until
// `restore` is called.
export interface SeverableProxy extends AsyncDisposable {
  port: number;
  sever(): void;
  restore(): void;
}

export async function openSeverableProxy(targetPort: () => number): Promise<SeverableProxy> {
  const sockets = new Set<Socket>();
  let severed = false;
  const server = createServer((socket) => {
    if (severed) return void socket.destroy();
    const beyond = connect(targetPort(), "127.0.0.1");
    for (const [end, other] of [
      [socket, beyond],
      [beyond, socket],
    ] as const) {
      sockets.add(end);
      end.on("error", () => {});
      end.on("close", () => {
        sockets.delete(end);
        other.destroy();
      });
    }
    socket.pipe(beyond).pipe(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const sever = () => {
    severed = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    sever,
    restore: () => void (severed = false),
    async [Symbol.asyncDispose]() {
      sever();
      await new Promise((done) => server.close(done));
    },
  };
}
