import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { AppError, type SandboxId } from "@berth/contract";
import type { Visitor } from "@berth/contract/workspace/visitor.ts";
import { spanOf } from "../../tracing/span.ts";
import { relayHttp, type HttpRelayDeps } from "./http-relay.ts";
import type { SessionLinks } from "./session-links.ts";
import { headersFromSandbox, headersToSandbox, visitorHeaders } from "./sandbox-headers.ts";

export interface ApiRequest {
  request: IncomingMessage;
  response: ServerResponse;
  sandboxId: SandboxId;
  path: string;
  // The person at the workspace page; absent for a partner's backend.
  visitor?: Visitor;
  // Replies instead of a daemon that answers 404. If it throws, nothing is sent.
  onUnknown?: () => void;
}

export type ApiRelayDeps = HttpRelayDeps & { links: SessionLinks };

// Relays an authorized request, from a partner's backend or from the workspace page, to the daemon's API.
export async function relayToApi(
  deps: ApiRelayDeps,
  { request, response, sandboxId, path, visitor, onUnknown }: ApiRequest,
): Promise<void> {
  await relayHttp(deps, {
    request,
    response,
    sandboxId,
    path,
    headers: { ...headersToSandbox(request.headers), ...(visitor && visitorHeaders(visitor)) },
    span: spanOf(request),
    responseHeaders: headersFromSandbox,
    intercept({ status }) {
      // These statuses would make a browser prompt for a password. From a daemon they mean that it rejected our token.
      if (status === 401 || status === 407)
        throw new AppError("sandbox_unreachable", { cause: new Error(`the sandbox replied with status ${status}`) });
      if (status !== 404 || !onUnknown) return false;
      onUnknown();
      return true;
    },
    async lastLine(headers) {
      const error = isCommandOutput(path, headers) ? await deps.links.whyStopped(sandboxId) : null;
      return error && `${JSON.stringify({ type: "error", code: error.code, message: error.message })}\n`;
    },
  });
}

// The lines of a command, as the contract describes them.
const isCommandOutput = (path: string, headers: IncomingHttpHeaders): boolean =>
  /^\/exec(?:\?|$)/.test(path) && (headers["content-type"]?.startsWith("application/x-ndjson") ?? false);
