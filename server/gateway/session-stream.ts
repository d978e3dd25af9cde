import type { ServerResponse } from "node:http";
import { AppError, type SandboxId } from "@berth/contract";
import type { WorkspaceSession } from "@berth/contract/workspace.ts";
import { SECOND, type Clock } from "../clock.ts";
import type { Standing, Standings } from "./access/session-cache.ts";

// The session as the workspace page sees it, once or as a stream of server-sent events.
export interface SessionStreams extends AsyncDisposable {
  describe(standing: Standing): WorkspaceSession;
  // `isStillAllowed` is asked now and then: cookies age.
  stream(sandboxId: SandboxId, response: ServerResponse, isStillAllowed: () => Promise<boolean>): void;
  // How many are open now.
  count: () => number;
}

export interface SessionStreamsDeps {
  standings: Standings;
  clock: Clock;
  previewUrlOf: (sandboxId: SandboxId) => string | null;
}

const ALIVE_MS = 15 * SECOND;
// For one sandbox.
const MAX_STREAMS = 100;

export function createSessionStreams({ standings, clock, previewUrlOf }: SessionStreamsDeps): SessionStreams {
  const open = new Map<ServerResponse, { sandboxId: SandboxId; isStillAllowed: () => Promise<boolean> }>();

  function describe({ session, partner }: Standing): WorkspaceSession {
    return {
      sessionId: session.id,
      sandboxId: session.sandboxId,
      status: session.status,
      reason: session.status === "running" ? null : (REASONS[session.stopReason ?? ""] ?? null),
      generation: session.generation,
      partnerName: partner.name,
      expiresAtMs: session.status === "running" ? session.expiresAt : null,
      serverNowMs: clock.now(),
      previewUrl: previewUrlOf(session.sandboxId),
    };
  }

  function stream(sandboxId: SandboxId, response: ServerResponse, isStillAllowed: () => Promise<boolean>): void {
    const siblings = [...open.values()].filter((other) => other.sandboxId === sandboxId);
    if (siblings.length >= MAX_STREAMS) throw new AppError("rate_limited", { message: "Too many pages of this workspace are open" });
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
    });
    response.flushHeaders();
    open.set(response, { sandboxId, isStillAllowed });
    const following = standings.follow(sandboxId, (standing) => {
      const good = standing?.partner.state === "active";
      if (good) response.write(`data: ${JSON.stringify(describe(standing))}\n\n`);
      if (!good || standing.session.status === "destroyed") response.end();
    });
    response.once("close", () => {
      open.delete(response);
      following[Symbol.dispose]();
    });
  }

  const living = clock.every(ALIVE_MS, async () => {
    for (const [response, { isStillAllowed }] of open) {
      // Nobody has read for a long time.
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
      await living[Symbol.asyncDispose]();
      for (const response of open.keys()) response.end();
    },
  };
}

const REASONS: Record<string, WorkspaceSession["reason"]> = { timeout: "timeout", sandbox_lost: "failed", retention: "expired" };
