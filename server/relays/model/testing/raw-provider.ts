import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";

// A provider that sends raw bytes in place of HTTP.
export interface RawProvider extends AsyncDisposable {
  url: string;
  // Called on each connection when the first bytes of the request have arrived.
  behave: (socket: Socket, request: string) => void;
  connections: Set<Socket>;
}

export async function startRawProvider(): Promise<RawProvider> {
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
    socket.on("error", () => {});
    socket.once("data", (data) => provider.behave(socket, data.toString("latin1")));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const provider: RawProvider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    behave: (socket) => socket.end(),
    connections,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of connections) socket.destroy();
      await once(server, "close");
    },
  };
  return provider;
}
