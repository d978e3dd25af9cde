import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createHttpServer, type RequestListener, type Server as HttpServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError, type SandboxId } from "@berth/contract";
import { silentLog } from "../../log.ts";
import { createDaemonLinks, type DaemonLinks } from "../daemon-links.ts";
import { socketDriver } from "./socket-driver.ts";

export const SANDBOX: SandboxId = "sbx_00000000000000000000000000";

export type LinkedDaemon = ReturnType<typeof createLinkedDaemon>;

// A server in the place of a sandbox's daemon, and links to it.
export function createLinkedDaemon() {
  const folder = mkdtempSync(join(tmpdir(), "berth-link-"));
  const socketPath = join(folder, "daemon.sock");
  const opened: DaemonLinks[] = [];
  const sockets = new Set<Socket>();
  const failures: string[] = [];
  let server: Server | undefined;

  async function listen<Kind extends Server>(created: Kind): Promise<Kind> {
    server = created;
    await once(created.listen(socketPath), "listening");
    return created;
  }

  return {
    // The server's side of every connection.
    sockets,
    // The events that the links logged as errors.
    failures,

    // The default deadline is long, because test machines may be slow. Tests of deadlines set a short one.
    openLinks({ tokenOf = () => "secret", headersTimeoutMs = 20_000 } = {}): DaemonLinks {
      const links = createDaemonLinks({
        driver: socketDriver(socketPath),
        tokenOf,
        log: { ...silentLog, error: (event) => void failures.push(event) },
        headersTimeoutMs,
      });
      opened.push(links);
      return links;
    },

    serveHttp(listener: RequestListener): Promise<HttpServer> {
      const created = createHttpServer(listener);
      created.on("connection", (socket) => sockets.add(socket));
      return listen(created);
    },

    serveRaw(listener: (socket: Socket) => void): Promise<Server> {
      return listen(
        createServer((socket) => {
          sockets.add(socket);
          socket.on("error", () => {});
          listener(socket);
        }),
      );
    },

    async [Symbol.asyncDispose]() {
      for (const links of opened) await links[Symbol.asyncDispose]();
      for (const socket of sockets) socket.destroy();
      if (server?.listening) await new Promise((done) => server?.close(done));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

// The code of the AppError with which the work fails, or the message of another error.
export async function failureOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "none";
  } catch (error) {
    if (error instanceof AppError) return error.code;
    return error instanceof Error ? error.message : String(error);
  }
}
