import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

// A network cable between the browser and the server that a test can pull: every connection through it breaks, and new
// ones are refused until it is plugged in again.
export interface Cable extends AsyncDisposable {
  port: number;
  pull(): void;
  plug(): void;
}

export async function layCable(targetPort: () => number): Promise<Cable> {
  const sockets = new Set<Socket>();
  let pulled = false;
  const server = createServer((socket) => {
    if (pulled) return void socket.destroy();
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
  const pull = () => {
    pulled = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    pull,
    plug: () => void (pulled = false),
    async [Symbol.asyncDispose]() {
      pull();
      await new Promise((done) => server.close(done));
    },
  };
}
