import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError, isAppError, type SandboxId } from "@berth/contract";
import type { DaemonLinks } from "../../daemon-link/daemon-links.ts";
import { relay } from "./http-relay.ts";
import { fromDaemonHeaders, toDaemonHeaders } from "./sandbox-headers.ts";
import type { Standings } from "../access/session-cache.ts";

// Passes a request on to the daemon's API, for whoever has been let in: a partner's backend or the workspace page.
export async function relayToApi(
  { links, standings }: { links: Pick<DaemonLinks, "request">; standings: Standings },
  { request, response, sandboxId, path }: { request: IncomingMessage; response: ServerResponse; sandboxId: SandboxId; path: string },
): Promise<void> {
  try {
    await relay(links, {
      request,
      response,
      sandboxId,
      path,
      headers: toDaemonHeaders(request.headers),
      answerHeaders: fromDaemonHeaders,
      // Nothing that a sandbox says makes a browser ask for a password; such an answer means that our token was refused.
      inspect({ status }) {
        if (status === 401 || status === 407)
          throw new AppError("sandbox_unreachable", { cause: new Error(`the sandbox answered ${status}`) });
        return false;
      },
    });
  } catch (error) {
    throw await explain(standings, sandboxId, error);
  }
}

// A request that failed because the session was paused or destroyed while it ran fails for that reason.
async function explain(standings: Standings, sandboxId: SandboxId, error: unknown): Promise<unknown> {
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
