import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, isSandboxId, type SandboxId } from "@berth/contract";
import type { DaemonLinks } from "../daemon-link/daemon-links.ts";
import { handshakeHeaders, relayToApi } from "./relay/api-relay.ts";
import { toDaemonPath } from "./relay/daemon-path.ts";
import { refuseUpgrade, splitTarget } from "./requests/reply.ts";
import { isHandshake, type SocketRelay } from "./relay/socket-relay.ts";
import type { Standings } from "./access/session-cache.ts";

// `/sandboxes/{sandboxId}/…`: the daemon's API for a partner's backend, which shows its key.
export interface SandboxesDeps {
  // Who presents a key with this request; null when nobody does.
  authenticate: (request: IncomingMessage) => Promise<{ id: string } | null>;
  standings: Standings;
  links: Pick<DaemonLinks, "request">;
  sockets: Pick<SocketRelay, "join">;
}

export interface Sandboxes {
  request(request: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

export function createSandboxes({ authenticate, standings, links, sockets }: SandboxesDeps): Sandboxes {
  async function admit(request: IncomingMessage): Promise<{ partnerId: string; sandboxId: SandboxId; path: string }> {
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
    return { partnerId: partner.id, sandboxId: standing.session.sandboxId, path: asked };
  }

  return {
    async request(request, response) {
      const { sandboxId, path } = await admit(request);
      await relayToApi({ links, standings }, { request, response, sandboxId, path });
    },

    async upgrade(request, socket, head) {
      const { partnerId, sandboxId, path } = await admit(request);
      if (!isHandshake(request)) throw new AppError("validation_failed", { message: "This is not a WebSocket handshake" });
      await sockets.join({
        request,
        socket,
        head,
        sandboxId,
        path,
        headers: handshakeHeaders(request),
        isStillAllowed: async () => (await authenticate(request))?.id === partnerId,
        refuse: ({ refused, reason }) => refuseUpgrade(socket, refused?.status ?? 503, refused?.body ?? JSON.stringify({ error: reason })),
      });
    },
  };
}
