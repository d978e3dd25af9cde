import { type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import { createConnection, type Socket } from "node:net";
import { TOKEN_HEADER } from "@berth/contract/daemon.ts";
import { AppError } from "@berth/contract/errors.ts";
import { isForwardableStatus } from "@berth/contract/forwarding.ts";
import { badRequest, systemCode } from "../http/errors.ts";
import type { Route, UpgradeRoute } from "../http/route.ts";

// Forwards HTTP and WebSocket requests for `/ports/{port}/…` to a program in the sandbox. Only the prefix and the sandbox
// token are removed.
export function portRelay({ hiddenPorts }: { hiddenPorts: () => number[] }): { routes: Route[]; upgrades: UpgradeRoute[] } {
  return {
    routes: [
      {
        method: "*",
        path: "/ports/:port/*",
        async handle({ request, response, params, cover }) {
          const socket = await connect(parsePort(params.port));
          cover(socket);
          response.on("close", () => socket.destroy());
          const outgoing = httpRequest({
            createConnection: () => socket,
            method: request.method,
            path: innerTarget(request),
            headers: innerHeaders(request),
            setHost: false,
          });
          cover(outgoing);
          const refuse = () => {
            socket.destroy();
            // The length is named, because a head that could not be sent may have left another one behind.
            if (!response.headersSent) response.writeHead(502, "Bad Gateway", { "Content-Length": 0 }).end();
            else if (!response.writableEnded) response.destroy();
          };
          outgoing.on("response", (incoming) => {
            cover(incoming);
            if (!sendHead(incoming, response)) return refuse();
            incoming.pipe(response);
            incoming.on("error", () => response.destroy());
          });
          outgoing.on("upgrade", refuse);
          outgoing.on("error", refuse);
          request.pipe(outgoing);
        },
      },
    ],
    upgrades: [
      {
        path: "/ports/:port/*",
        async upgrade({ request, socket, head, params, cover }) {
          const inner = await connect(parsePort(params.port));
          cover(inner);
          const headers = innerHeaders(request);
          const lines = [`${request.method} ${innerTarget(request)} HTTP/1.1`];
          for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`);
          inner.write(`${lines.join("\r\n")}\r\n\r\n`);
          inner.write(head);
          socket.pipe(inner).pipe(socket);
          for (const [one, other] of [
            [socket, inner],
            [inner, socket],
          ] as const) {
            one.on("error", () => other.destroy());
            one.on("close", () => other.destroy());
          }
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

// False if the program has sent a head that is no response: Node parses any three digits as a status and any bytes as its reason, but
// sends neither.
function sendHead({ statusCode, statusMessage, rawHeaders }: IncomingMessage, response: ServerResponse): boolean {
  if (!isForwardableStatus(statusCode)) return false;
  // Trailers are not forwarded, and Node refuses to announce one for a body without chunks.
  const headers = rawHeaders.filter((_, index) => rawHeaders[index - (index % 2)]!.toLowerCase() !== "trailer");
  try {
    response.writeHead(statusCode, statusMessage, headers);
    return true;
  } catch {
    return false;
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

function innerHeaders(request: IncomingMessage): string[] {
  const headers: string[] = [];
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    const [name = "", value = ""] = [request.rawHeaders[i], request.rawHeaders[i + 1]];
    if (name.toLowerCase() !== TOKEN_HEADER) headers.push(name, value);
  }
  return headers;
}
