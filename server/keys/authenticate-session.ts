import { includesScope } from "@berth/contract";
import type { AuthenticateSession, SessionAccess } from "../session-access.ts";
import type { Authenticated, Authenticator } from "./authenticate.ts";
import { isSessionToken, type SessionTokens } from "./session-tokens.ts";

export interface BearerDeps {
  keys: Pick<Authenticator, "authenticate">;
  tokens: Pick<SessionTokens, "authenticate">;
}

// The one way in for every door to a session: finds out what a Bearer may do there.
export const createSessionAuthentication =
  ({ keys, tokens }: BearerDeps): AuthenticateSession =>
  (bearer) => {
    if (isSessionToken(bearer)) return tokens.authenticate(bearer);
    const found = keys.authenticate(bearer);
    return found instanceof Promise ? found.then(toAccess) : toAccess(found);
  };

// The same for the partner API, where a token may only make the calls that have a scope for tokens.
export const createApiAuthentication = ({ keys, tokens }: BearerDeps) => {
  const toPrincipal = (access: Awaited<ReturnType<SessionTokens["authenticate"]>>) =>
    access && { partner: access.partner, keyId: access.credentialId, scope: "read" as const, token: access };
  return (bearer: string) => {
    if (!isSessionToken(bearer)) return keys.authenticate(bearer);
    const found = tokens.authenticate(bearer);
    return found instanceof Promise ? found.then(toPrincipal) : toPrincipal(found);
  };
};

// A key opens every session of its partner, and everything in it, if its scope includes their use.
const toAccess = (key: Authenticated | null): SessionAccess | null =>
  key && {
    partnerId: key.partner.id,
    credentialId: key.keyId,
    only: null,
    opens: ({ partnerId }) => partnerId === key.partner.id,
    allows: () => includesScope(key.scope, "sessions"),
    hasPorts: includesScope(key.scope, "sessions"),
  };
