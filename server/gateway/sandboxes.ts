import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, includesScope, isSandboxId, type KeyScope, type SandboxId } from "@berth/contract";
import type { DaemonLinks } from "../daemon-link/daemon-links.ts";
import { notRunningError, type SessionCache } from "./access/session-cache.ts";
import { spanOf } from "../tracing/span.ts";
import { relayToApi } from "./relay/api-relay.ts";
import type { OutputLimit } from "../event-loop/output-limit.ts";
import { toDaemonPath } from "./relay/daemon-path.ts";
import type { SocketRelay } from "./relay/socket-relay.ts";
import { handshakeHeaders, requireHandshake } from "./relay/websocket-handshake.ts";
import { relayRefusal } from "./requests/reply.ts";
import { splitUrl } from "./requests/request-parts.ts";

// `/sandboxes/{sandboxId}/…`: the daemon's API for partners' backends, authorized by API key.
export interface SandboxesDeps {
  // The partner and the scope of the API key that the request carries; null if it carries no valid key.
  authenticate: (request: IncomingMessage) => Promise<{ partner: { id: string }; scope: KeyScope } | null>;
  sessionCache: SessionCache;
  links: Pick<DaemonLinks, "request">;
  outputLimit: OutputLimit;
  sockets: Pick<SocketRelay, "relay">;
}

export interface Sandboxes {
  request(request: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

export function createSandboxes({ authenticate, sessionCache, links, outputLimit, sockets }: SandboxesDeps): Sandboxes {
  async function authorize(request: IncomingMessage): Promise<{ partnerId: string; sandboxId: SandboxId; path: string }> {
    const caller = await authenticate(request);
    if (!caller) throw new AppError("unauthorized");
    if (!includesScope(caller.scope, "sessions")) throw new AppError("insufficient_scope");
    const { partner } = caller;
    const { path, query } = splitUrl(request);
    const [, , id = "", ...rest] = path.split("/");
    const cached = isSandboxId(id) ? await sessionCache.get(id) : null;
    if (cached?.session.partnerId !== partner.id) throw new AppError("session_not_found");
    const notRunning = notRunningError(cached);
    if (notRunning) throw notRunning;
    // The bare sandbox URL replies with the daemon's health.
    const daemonPath = rest.join("/") === "" ? "/health" : toDaemonPath(`/${rest.join("/")}`, query);
    if (daemonPath === null) throw new AppError("not_found");
    return { partnerId: partner.id, sandboxId: cached.session.sandboxId, path: daemonPath };
  }

  return {
    async request(request, response) {
      const { sandboxId, path } = await authorize(request);
      await relayToApi({ links, outputLimit, sessionCache }, { request, response, sandboxId, path });
    },

    async upgrade(request, socket, head) {
      const { partnerId, sandboxId, path } = await authorize(request);
      requireHandshake(request);
      await sockets.relay({
        request,
        socket,
        head,
        sandboxId,
        path,
        headers: handshakeHeaders(request),
        span: spanOf(request),
        isStillAllowed: async () => (await authenticate(request))?.partner.id === partnerId,
        refuse: ({ refused, reason }) => relayRefusal(socket, refused?.status ?? 503, refused?.body ?? JSON.stringify({ error: reason })),
      });
    },
  };
}
