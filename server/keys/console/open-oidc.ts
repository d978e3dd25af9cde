import type { Config } from "../../config/config.ts";
import { createOidcProvider } from "./oidc-provider.ts";

// null: operators sign in with tokens only.
export function openOidc(
  { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret, oidcAllow: allow }: Config,
  baseUrl: string,
) {
  if (issuer === null || clientId === null) return null;
  return createOidcProvider({ issuer, clientId, clientSecret, allow, redirectUri: `${baseUrl}/console/oidc/callback` });
}
