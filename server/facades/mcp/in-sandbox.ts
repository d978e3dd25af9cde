import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "@berth/contract";
import { notRunningError } from "../../gateway/access/session-cache.ts";
import { wake } from "../../gateway/access/wake.ts";
import type { GatewayParts } from "../../gateway/facade.ts";
import { partnerIdOf } from "../../http/routes/route-context.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import { createDaemonCalls, type DaemonCalls } from "../daemon-calls.ts";
import type { InSession, ToolCall } from "./tool.ts";

export interface Sandbox extends DaemonCalls {
  // Waits, if the sandbox has sent more than its share.
  admitBytes(bytes: number): Promise<void>;
}

// Works in the sandbox of a session, which is woken for it if that is allowed, and in use meanwhile.
export type InSandbox = <Result>(call: ToolCall, input: InSession, work: (sandbox: Sandbox) => Promise<Result>) => Promise<Result>;

export function createInSandbox(sessions: Pick<Sessions, "get">, parts: GatewayParts): InSandbox {
  return async ({ request, signal }, { sessionId }, work) => {
    const { sandboxId } = await sessions.get(partnerIdOf(request), sessionId);
    const cached = await parts.sessionCache.get(sandboxId);
    if (!cached) throw new AppError("session_not_found");
    const now = await wake(parts.sessions, cached);
    const notRunning = notRunningError(now);
    if (notRunning) throw notRunning;
    using _use = parts.activity.begin(now.session);
    const admitBytes = async (bytes: number) => {
      const waitMs = parts.outputLimit.count(sandboxId, bytes);
      if (waitMs > 0) await delay(waitMs);
    };
    return await work({ ...createDaemonCalls(parts.links, sandboxId, signal), admitBytes });
  };
}

// Relative paths are those of the workspace; absolute ones may lead anywhere in the sandbox.
export const pathQuery = (path: string) => ({ path, base: path.startsWith("/") ? "home" : "workspace" });
