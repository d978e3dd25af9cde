import { once } from "node:events";
import { constants, existsSync, watch, type FSWatcher } from "node:fs";
import { chmod, open, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { makeFolder } from "../bounded-io/make-folder.ts";
import { enforceTimeouts } from "./proxy/enforce-timeouts.ts";
import type { SandboxProxy } from "./proxy/proxy-factory.ts";

export const SOCKET_NAME = "proxy.sock";

// Listens on `{parent}/{name}/proxy.sock` for a proxy, and replaces a socket that a dead server left behind. Disposing closes
// every connection, including tunnels, which an HTTP server does not track.
export async function listenInFolder(
  { proxy, flood, serve }: Omit<SandboxProxy, "change">,
  parent: string,
  name: string,
  maxConnections: number,
): Promise<AsyncDisposable> {
  const connections = new Set<Socket>();
  let front: Server | undefined;
  let opening: Promise<void> | undefined;
  let reopening: NodeJS.Timeout | undefined;
  let isOpen = false;
  let isDisposed = false;

  // Only the server can enter the parent folder. The driver mounts the inner folder into one sandbox.
  makeFolder(parent, 0o700);
  const folder = join(parent, name);
  makeFolder(folder, 0o755);
  const path = join(folder, SOCKET_NAME);
  // A socket's path is limited to 108 bytes. Through the folder's descriptor it is always short.
  const handle = process.platform === "linux" ? await open(folder, constants.O_RDONLY | constants.O_DIRECTORY) : undefined;
  const address = handle ? `/proc/self/fd/${handle.fd}/${SOCKET_NAME}` : path;

  function admit(socket: Socket): void {
    socket.on("error", () => socket.destroy());
    if (!flood.take() || connections.size >= maxConnections) return void socket.destroy();
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
    serve(socket);
  }

  // Closes the socket for a while: refusing connections one by one would cost as much as serving them.
  function closeForAWhile(): void {
    if (reopening || isDisposed) return;
    isOpen = false;
    front?.close();
    reopening = setTimeout(() => {
      reopening = undefined;
      opening = openFront().catch(() => closeForAWhile());
    }, flood.restMs);
  }

  // An operator may have cleaned up the data folder. The sandbox would have no network until the next start of the server.
  function reopenIfRemoved(): void {
    if (isOpen && !existsSync(path)) closeForAWhile();
  }

  async function openFront(): Promise<void> {
    await rm(path, { force: true });
    front = createServer({ allowHalfOpen: true }, admit);
    // Closes further connections before they cost as much as a socket. Those of an earlier front are counted in `admit`.
    front.maxConnections = maxConnections;
    front.on("drop", () => void flood.take());
    front.listen(address);
    await once(front, "listening");
    // The sandbox's user has no rights on this machine.
    await chmod(path, 0o666);
    isOpen = true;
    reopenIfRemoved();
  }

  flood.onExceeded(closeForAWhile);
  try {
    await openFront();
  } catch (error) {
    await handle?.close();
    throw error;
  }
  enforceTimeouts(proxy);
  const watcher = watchFolder(folder, reopenIfRemoved);

  return {
    async [Symbol.asyncDispose]() {
      isDisposed = true;
      watcher?.close();
      clearTimeout(reopening);
      // It uses the folder's descriptor, whose number may belong to another sandbox's folder soon.
      await opening;
      proxy.close();
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

// The number of watches on a machine is limited. Without one, a removed socket comes back with the next start of the server.
function watchFolder(folder: string, onChange: () => void): FSWatcher | undefined {
  try {
    return watch(folder, { persistent: false }, onChange).on("error", () => {});
  } catch {
    return undefined;
  }
}
