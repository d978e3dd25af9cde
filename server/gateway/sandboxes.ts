import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, isAppError, isSandboxId, type SandboxId } from "@berth/contract";
import type { Links } from "../link.ts";
import { toDaemonPath } from "./daemon-path.ts";
import { relay } from "./relay.ts";
import { fromDaemonHeaders, toDaemonHeaders } from "./relay-headers.ts";
import { refuseUpgrade, splitTarget } from "./respond.ts";
import { isHandshake, type SocketRelay } from "./socket-relay.ts";
import type { Standings } from "./standing.ts";

// `/sandboxes/{sandboxId}/…`: the daemon's API for a partner's backend, which shows its key.
export interface SandboxesDeps {
  // Who presents a key with this request; null when nobody does.
  authenticate: (request: IncomingMessage) => Promise<{ id: string } | null>;
  standings: Standings;
  links: Pick<Links, "request">;
  sockets: Pick<SocketRelay, "join">;
}

export interface Sandboxes {
  request(request: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

export function createSandboxes({ authenticate, standings, links, sockets }: SandboxesDeps): Sandboxes {
  async function admit(request: IncomingMessage): Promise<{ sandboxId: SandboxId; path: string }> {
    const partner = await authenticate(request);
    if (!partner) throw new AppError("unauthorized");
    const { path, query } = splitTarget(request);
    const [, , id = "", ...rest] = path.split("/");
    const standing = isSandboxId(id) ? await standings.of(id) : null;
    if (standing?.session.partnerId !== partner.id || standing.session.status === "destroyed") throw new AppError("session_not_found");
    if (standing.session.status === "paused") throw new AppError("session_paused");
    // The address itself says whether the sandbox is well.
    const asked = rest.join("/") === "" ? "/health" : toDaemonPath(`/${rest.join("/")}`, query);
    if (asked === null) throw new AppError("not_found");
    return { sandboxId: standing.session.sandboxId, path: asked };
  }

  return {
    async request(request, response) {
      const { sandboxId, path } = await admit(request);
      try {
        const headers = toDaemonHeaders(request.headers);
        await relay(links, { request, response, sandboxId, path, headers, answerHeaders: fromDaemonHeaders });
      } catch (error) {
        throw await explain(standings, sandboxId, error);
      }
    },

    async upgrade(request, socket, head) {
      const { sandboxId, path } = await admit(request);
      if (!isHandshake(request)) throw new AppError("validation_failed", { message: "This is not a WebSocket handshake" });
      await sockets.join({
        request,
        socket,
        head,
        sandboxId,
        path,
        headers: handshakeHeaders(request),
        refuse: ({ refused, reason }) => refuseUpgrade(socket, refused?.status ?? 503, refused?.body ?? JSON.stringify({ error: reason })),
      });
    },
  };
}

// A request that failed because the session was paused or destroyed while it ran fails for that reason.
export async function explain(standings: Standings, sandboxId: SandboxId, error: unknown): Promise<unknown> {
  if (!isAppError(error, "sandbox_unreachable")) return error;
  const standing = await standings.of(sandboxId);
  if (!standing || standing.session.status === "destroyed") return new AppError("session_not_found", { cause: error });
  return standing.session.status === "paused" ? new AppError("session_paused", { cause: error }) : error;
}

// The subset of the caller's handshake that the daemon sees. Extensions are left out: frames pass as they are.
export function handshakeHeaders(request: IncomingMessage): Record<string, string> {
  const protocol = request.headers["sec-websocket-protocol"];
  return {
    "sec-websocket-key": request.headers["sec-websocket-key"] ?? "",
    "sec-websocket-version": "13",
    ...(protocol !== undefined && { "sec-websocket-protocol": protocol }),
  };
}
