import type { IncomingMessage } from "node:http";
import { createConnection, type Socket } from "node:net";
import { TOKEN_HEADER } from "@berth/contract/daemon.ts";
import { AppError } from "@berth/contract/errors.ts";
import { badRequest, systemCode } from "../http/errors.ts";
import { joinSockets, sendAnswer, sendUpstream } from "../http/forward.ts";
import type { Route, UpgradeRoute } from "../http/route.ts";

// Forwards HTTP and WebSocket requests for `/ports/{port}/…` to a program in the sandbox, without the prefix and the sandbox token.
export function portRelay({ hiddenPorts }: { hiddenPorts: () => number[] }): { routes: Route[]; upgrades: UpgradeRoute[] } {
  return {
    routes: [
      {
        method: "*",
        path: "/ports/:port/*",
        async handle({ request, response, params, cover }) {
          const socket = await connect(parsePort(params.port));
          cover(socket);
          try {
            const upstream = { createConnection: () => socket, path: innerTarget(request) };
            sendAnswer(await sendUpstream({ request, response, cover }, upstream), response);
          } catch {
            socket.destroy();
            // The length is named, because a head that could not be sent may have left another one behind.
            if (!response.headersSent) response.writeHead(502, { "Content-Length": 0 }).end();
          }
        },
      },
    ],
    upgrades: [
      {
        path: "/ports/:port/*",
        async upgrade({ request, socket, head, params, cover }) {
          const inner = await connect(parsePort(params.port));
          if (socket.destroyed) return void inner.destroy();
          cover(inner);
          const lines = [`${request.method} ${innerTarget(request)} HTTP/1.1`];
          for (const [name, values = []] of Object.entries(request.headersDistinct))
            if (name !== TOKEN_HEADER) lines.push(...values.map((value) => `${name}: ${value}`));
          inner.write(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
          inner.write(head);
          joinSockets(socket, inner);
        },
      },
    ],
  };

  function parsePort(text = ""): number {
    const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (port < 1 || port > 65535) throw badRequest("The port must be a number from 1 to 65535");
    if (hiddenPorts().includes(port)) throw new AppError("forbidden", { message: "Previews cannot open this port" });
    return port;
  }
}

// Development servers listen on either address; many resolve `localhost` to ::1.
async function connect(port: number): Promise<Socket> {
  for (const host of ["127.0.0.1", "::1"]) {
    const socket = await tryConnect(host, port);
    if (socket) return socket;
  }
  throw new AppError("port_closed", { message: `No program listens on port ${port}` });
}

function tryConnect(host: string, port: number): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host, port });
    socket.once("connect", () => resolve(socket));
    socket.once("error", (error) => (systemCode(error) === "EMFILE" ? reject(error) : resolve(null)));
  });
}

// Removes the prefix and keeps the rest unchanged: "/ports/3000/a%20b?c" -> "/a%20b?c".
function innerTarget(request: IncomingMessage): string {
  const rest = /^\/ports\/[^/?]*(.*)$/s.exec(request.url ?? "")?.[1] ?? "";
  return rest.startsWith("/") ? rest : `/${rest}`;
}
