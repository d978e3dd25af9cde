import { once } from "node:events";
import { constants } from "node:fs";
import { chmod, mkdir, open, rm } from "node:fs/promises";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";

export const SOCKET_NAME = "proxy.sock";

// Lets a server listen on `{parent}/{name}/proxy.sock`, in place of one that a dead server left. Disposing it cuts every
// connection, tunnels too, which the HTTP server itself has lost sight of.
export async function listenInFolder(server: Server, parent: string, name: string): Promise<AsyncDisposable> {
  const connections = new Set<Socket>();
  server.on("connection", (socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });

  // Closed to everybody but the server: a driver shows the inner folder to one sandbox.
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const folder = join(parent, name);
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const path = join(folder, SOCKET_NAME);
  await rm(path, { force: true });
  // A socket's path has room for some hundred bytes; through the folder's descriptor it is always short.
  const handle = process.platform === "linux" ? await open(folder, constants.O_RDONLY | constants.O_DIRECTORY) : undefined;
  try {
    server.listen(handle ? `/proc/self/fd/${handle.fd}/${SOCKET_NAME}` : path);
    await once(server, "listening");
    // The sandbox's user is nobody here.
    await chmod(path, 0o666);
  } catch (error) {
    await handle?.close();
    throw error;
  }

  return {
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of connections) socket.destroy();
      await closed;
      await handle?.close();
    },
  };
}
