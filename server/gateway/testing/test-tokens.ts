import { newId, type SessionId } from "@berth/contract";
import { accessOf, type TokenRights } from "../../keys/token-access.ts";
import type { SessionAccess } from "../../session-access.ts";
import type { SessionView } from "../../sessions/sessions.ts";

// Session tokens without a store.
export interface TestTokens {
  // A token of the session, unless `rights` name another one.
  add(rights: Pick<TokenRights, "scopes"> & { ports?: number[]; sessionId?: SessionId }): string;
  revokeAll(): void;
  authenticate(bearer: string): SessionAccess | null;
}

export function createTestTokens({ id: sessionId, sandboxId, partnerId, createdAt }: SessionView): TestTokens {
  const tokens = new Map<string, SessionAccess>();
  return {
    add(rights) {
      const bearer = `berth_st_${tokens.size}`;
      tokens.set(bearer, accessOf({ id: newId("tok", createdAt), partnerId, sessionId, sandboxId, ports: null, ...rights }));
      return bearer;
    },
    revokeAll: () => tokens.clear(),
    authenticate: (bearer) => tokens.get(bearer) ?? null,
  };
}
