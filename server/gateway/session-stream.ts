import type { ServerResponse } from "node:http";
import { AppError, type SandboxId } from "@berth/contract";
import { STREAM_KEEP_ALIVE_MS, type WorkspaceSession } from "@berth/contract/workspace/workspace.ts";
import type { Visitor } from "@berth/contract/workspace/visitor.ts";
import type { Clock } from "../clock.ts";
import { idleWarningMs } from "../sessions/idle/activity.ts";
import type { SessionView } from "../sessions/sessions.ts";
import type { CachedSession, SessionCache } from "./access/session-cache.ts";
import { settingsOwnerOf } from "./user-settings.ts";

// The session as the workspace page sees it: once, or as a stream of server-sent events.
export interface SessionStreams extends AsyncDisposable {
  describe(cached: CachedSession, visitor: Visitor): WorkspaceSession;
  stream(sandboxId: SandboxId, response: ServerResponse, reader: StreamReader): void;
  // The number of open streams.
  count: () => number;
}

export interface StreamReader {
  visitor: Visitor;
  // Checked periodically, because cookies expire.
  isStillAllowed: () => Promise<boolean>;
}

export interface SessionStreamsDeps {
  sessionCache: SessionCache;
  clock: Clock;
  previewUrlOf: (sandboxId: SandboxId) => string | null;
}

const MAX_STREAMS_PER_SANDBOX = 100;

export function createSessionStreams({ sessionCache, clock, previewUrlOf }: SessionStreamsDeps): SessionStreams {
  const open = new Map<ServerResponse, { sandboxId: SandboxId; isStillAllowed: () => Promise<boolean> }>();

  function describe({ session, partner, hasSupportVisit }: CachedSession, visitor: Visitor): WorkspaceSession {
    return {
      visitor,
      hasSupportVisit,
      sessionId: session.id,
      sandboxId: session.sandboxId,
      status: session.status,
      reason: session.status === "running" ? null : (REASONS[session.stopReason ?? ""] ?? null),
      generation: session.generation,
      partnerName: partner.name,
      settingsOwner: settingsOwnerOf({ partnerId: partner.id, externalUserId: session.externalUserId }),
      branding: partner.branding,
      embedOrigins: partner.origins,
      expiresAtMs: session.status === "running" ? session.expiresAt : null,
      idlePause: idlePauseOf(session),
      onTimeout: session.onTimeout,
      extendUntilMs: session.status === "running" ? session.extendUntil : null,
      autoResume: session.autoResume,
      source: session.setup?.source ? { status: session.setup.source.status, reason: session.setup.source.reason } : null,
      isSettingUp: session.setup?.status === "pending",
      serverNowMs: clock.now(),
      previewUrl: previewUrlOf(session.sandboxId),
    };
  }

  function stream(sandboxId: SandboxId, response: ServerResponse, { visitor, isStillAllowed }: StreamReader): void {
    const siblings = [...open.values()].filter((other) => other.sandboxId === sandboxId);
    if (siblings.length >= MAX_STREAMS_PER_SANDBOX)
      throw new AppError("rate_limited", { message: "Too many pages of this workspace are open; close some of them" });
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
    });
    response.flushHeaders();
    open.set(response, { sandboxId, isStillAllowed });
    const watch = sessionCache.watch(sandboxId, (cached) => {
      const isActive = cached?.partner.state === "active";
      if (isActive) response.write(`data: ${JSON.stringify(describe(cached, visitor))}\n\n`);
      if (!isActive || cached.session.status === "destroyed") response.end();
    });
    response.once("close", () => {
      open.delete(response);
      watch[Symbol.dispose]();
    });
  }

  const keepAlives = clock.every(STREAM_KEEP_ALIVE_MS, async () => {
    for (const [response, { isStillAllowed }] of open) {
      // The client has stopped reading.
      if (response.writableNeedDrain) response.destroy();
      else if (!(await isStillAllowed().catch(() => true))) response.end();
      else response.write(":\n\n");
    }
  });

  return {
    describe,
    stream,
    count: () => open.size,
    async [Symbol.asyncDispose]() {
      await keepAlives[Symbol.asyncDispose]();
      for (const response of open.keys()) response.end();
    },
  };
}

function idlePauseOf({ status, idleTimeoutMs, idleAt }: SessionView): WorkspaceSession["idlePause"] {
  if (status !== "running" || idleTimeoutMs === null || idleAt === null) return null;
  return { atMs: idleAt, warnAtMs: idleAt - idleWarningMs(idleTimeoutMs) };
}

const REASONS: Record<string, WorkspaceSession["reason"]> = {
  timeout: "timeout",
  idle: "idle",
  sandbox_lost: "failed",
  retention: "expired",
  disk_full: "diskFull",
  disk_failed: "diskFailed",
};
