import { once } from "node:events";
import { constants } from "node:fs";
import { chmod, mkdir, open, rm } from "node:fs/promises";
import type { Server as HttpServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { FloodLimit } from "./limits/flood-limit.ts";

export const SOCKET_NAME = "proxy.sock";

export interface ListenOptions {
  flood: FloodLimit;
  maxConnections: number;
}

// Lets connections to `{parent}/{name}/proxy.sock` in to a server, in place of one that a dead server left. Disposing it
// cuts every connection, tunnels too, which the HTTP server itself has lost sight of.
export async function listenInFolder(inner: HttpServer, parent: string, name: string, options: ListenOptions): Promise<AsyncDisposable> {
  const connections = new Set<Socket>();
  let front: Server | undefined;
  let resting: NodeJS.Timeout | undefined;
  let ended = false;

  // Closed to everybody but the server: a driver shows the inner folder to one sandbox.
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const folder = join(parent, name);
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const path = join(folder, SOCKET_NAME);
  // A socket's path has room for some hundred bytes; through the folder's descriptor it is always short.
  const handle = process.platform === "linux" ? await open(folder, constants.O_RDONLY | constants.O_DIRECTORY) : undefined;
  const address = handle ? `/proc/self/fd/${handle.fd}/${SOCKET_NAME}` : path;

  function admit(socket: Socket): void {
    socket.on("error", () => socket.destroy());
    if (!options.flood.take() || connections.size >= options.maxConnections) return void socket.destroy();
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
    inner.emit("connection", socket);
  }

  // The socket goes away altogether: turning callers down one by one would cost as much as serving them.
  function rest(): void {
    if (resting) return;
    front?.close();
    resting = setTimeout(() => {
      resting = undefined;
      void openFront().catch(() => rest());
    }, options.flood.restMs);
  }

  async function openFront(): Promise<void> {
    await rm(path, { force: true });
    front = createServer({ allowHalfOpen: true }, admit);
    front.listen(address);
    await once(front, "listening");
    // The sandbox's user is nobody here.
    await chmod(path, 0o666);
    if (ended) front.close();
  }

  options.flood.onExceeded(rest);
  try {
    await openFront();
  } catch (error) {
    await handle?.close();
    throw error;
  }
  // An HTTP server looks after its timeouts only once it listens, which this one does through another.
  inner.emit("listening");

  return {
    async [Symbol.asyncDispose]() {
      ended = true;
      clearTimeout(resting);
      inner.close();
      if (front?.listening) {
        front.close();
        for (const socket of connections) socket.destroy();
        await once(front, "close");
      }
      for (const socket of connections) socket.destroy();
      await handle?.close();
    },
  };
}
