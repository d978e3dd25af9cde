import type { IncomingMessage } from "node:http";
import type { SandboxId } from "@berth/contract";
import type { Cookies } from "./cookie.ts";
import type { Standing, Standings } from "./session-cache.ts";

// Whether the browser behind a request may use a sandbox: it has the cookie, there is such a session, and its partner is
// not suspended. The session may be paused or destroyed.
export type Access = { standing: Standing; refused?: undefined } | { standing: Standing | null; refused: "signedOut" | "suspended" };

export async function accessOf(
  { cookies, standings }: { cookies: Cookies; standings: Standings },
  request: IncomingMessage,
  sandboxId: SandboxId,
  port?: number,
): Promise<Access> {
  const standing = await standings.of(sandboxId);
  if (!standing) return { standing, refused: "signedOut" };
  const subject = { sandboxId, partnerId: standing.partner.id, ...(port !== undefined && { port }) };
  if (!cookies.check(request.headers.cookie, subject)) return { standing, refused: "signedOut" };
  return standing.partner.state === "active" ? { standing } : { standing, refused: "suspended" };
}
