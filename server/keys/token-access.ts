import type { SandboxId } from "@berth/contract";
import type { SessionAccess } from "../session-access.ts";
import type { StoredToken } from "../store/session-tokens/session-tokens.ts";

export type TokenRights = Pick<StoredToken, "id" | "partnerId" | "sessionId" | "scopes" | "ports"> & { sandboxId: SandboxId };

// A valid token opens one session, and in it only the parts that its scopes name.
export const accessOf = ({ id, partnerId, sessionId, sandboxId, scopes, ports }: TokenRights): SessionAccess => ({
  partnerId,
  credentialId: id,
  only: { sessionId, sandboxId },
  hasPorts: scopes.includes("ports"),
  opens: (session) => session.id === sessionId && session.partnerId === partnerId,
  allows(scope, port) {
    if (scope === null) return false;
    if (scope === "any") return true;
    if (!scopes.includes(scope)) return false;
    // The list of ports names those that the token does not open.
    return scope !== "ports" || ports === null || (port !== undefined && ports.includes(port));
  },
});
