import type { IncomingMessage } from "node:http";
import type { SandboxId } from "@berth/contract";
import type { Visitor } from "@berth/contract/workspace/visitor.ts";
import type { Cookies } from "./cookie.ts";
import type { CachedSession, SessionCache } from "./session-cache.ts";

// Access is granted if the session exists, the browser holds its cookie, and the partner is not suspended. The session may
// be running, paused or destroyed.
export type BrowserAccess =
  | { cached: CachedSession; visitor: Visitor; denied?: undefined }
  | { cached: CachedSession | null; visitor?: undefined; denied: "signedOut" | "suspended" };

export async function checkAccess(
  { cookies, sessionCache }: { cookies: Cookies; sessionCache: SessionCache },
  request: IncomingMessage,
  { sandboxId, port }: { sandboxId: SandboxId; port?: number },
): Promise<BrowserAccess> {
  const cached = await sessionCache.get(sandboxId);
  if (!cached) return { cached, denied: "signedOut" };
  const subject = { sandboxId, partnerId: cached.partner.id, ...(port !== undefined && { port }) };
  const visitor = cookies.visitorOf(request.headers.cookie, subject);
  if (!visitor) return { cached, denied: "signedOut" };
  // The partner may have forbidden it since.
  if (visitor.isSupport && !(await allowsSupport(sessionCache, cached))) return { cached, denied: "signedOut" };
  return cached.partner.state === "active" ? { cached, visitor } : { cached, denied: "suspended" };
}

// A cached refusal is read again, because support comes right after the partner has allowed it.
export async function allowsSupport(sessionCache: SessionCache, { session, partner }: CachedSession): Promise<boolean> {
  return partner.supportAccess || ((await sessionCache.getFresh(session.sandboxId))?.partner.supportAccess ?? false);
}
