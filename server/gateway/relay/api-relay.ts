import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError, isAppError, type SandboxId } from "@berth/contract";
import type { Visitor } from "@berth/contract/visitor.ts";
import { notRunningError, type SessionCache } from "../access/session-cache.ts";
import { spanOf } from "../../tracing/span.ts";
import { relayHttp, type HttpRelayDeps } from "./http-relay.ts";
import { headersFromSandbox, headersToSandbox, visitorHeaders } from "./sandbox-headers.ts";

interface ApiRequest {
  request: IncomingMessage;
  response: ServerResponse;
  sandboxId: SandboxId;
  path: string;
  // The person at the workspace page; absent for a partner's backend.
  visitor?: Visitor;
}

// Relays an authorized request, from a partner's backend or from the workspace page, to the daemon's API.
export async function relayToApi(
  { links, outputLimit, sessionCache }: HttpRelayDeps & { sessionCache: SessionCache },
  { request, response, sandboxId, path, visitor }: ApiRequest,
): Promise<void> {
  try {
    await relayHttp(
      { links, outputLimit },
      {
        request,
        response,
        sandboxId,
        path,
        headers: { ...headersToSandbox(request.headers), ...(visitor && visitorHeaders(visitor)) },
        span: spanOf(request),
        responseHeaders: headersFromSandbox,
        intercept({ status, headers }) {
          // The sandbox is about to be frozen.
          if (status === 409 && headers["x-error-code"] === "session_paused") throw new AppError("session_paused");
          // These statuses would make a browser prompt for a password. From a daemon they mean that it rejected our token.
          if (status === 401 || status === 407)
            throw new AppError("sandbox_unreachable", { cause: new Error(`the sandbox replied with status ${status}`) });
          return false;
        },
      },
    );
  } catch (error) {
    // If the session was paused or destroyed during the request, perhaps by another server, that is the reason for the failure.
    if (!isAppError(error, "sandbox_unreachable")) throw error;
    throw notRunningError(await sessionCache.getFresh(sandboxId), error) ?? error;
  }
}
