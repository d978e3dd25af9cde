import type { Configuration } from "openid-client";
import { SECOND } from "../../clock.ts";
import { ruleFor, type Claims } from "./oidc-rules.ts";

// Sign-in at an identity provider, with the code flow of OpenID Connect and PKCE. Both methods throw an OidcFailure.
export interface OidcProvider {
  // The address to which the browser goes, and what `finish` needs to know again.
  start(): Promise<{ url: string; pending: PendingSignIn }>;
  // `callback` is the address to which the provider sent the browser back.
  finish(callback: URL, pending: PendingSignIn): Promise<Identity>;
  // Whether sign-ins that this rule allowed are still allowed.
  hasRule(rule: string): boolean;
}

export interface PendingSignIn {
  state: string;
  nonce: string;
  verifier: string;
}

export interface Identity {
  // Issuer and subject, which together never name another person.
  subject: string;
  // For people: the e-mail address, or else the name.
  name: string;
  // The entry of BERTH_CONSOLE_OIDC_ALLOW that allowed the person.
  rule: string;
}

export type OidcFault = "unreachable" | "denied" | "invalid" | "not_allowed";

export class OidcFailure extends Error {
  readonly fault: OidcFault;

  constructor(fault: OidcFault, options?: ErrorOptions) {
    super(`The sign-in failed: ${fault}`, options);
    this.fault = fault;
  }
}

export interface OidcProviderOptions {
  issuer: string;
  clientId: string;
  clientSecret: string | null;
  redirectUri: string;
  // BERTH_CONSOLE_OIDC_ALLOW.
  allow: readonly string[];
}

const RESPONSE_SECONDS = (5 * SECOND) / 1000;
const MAX_NAME = 100;

export function createOidcProvider({ issuer, clientId, clientSecret, redirectUri, allow }: OidcProviderOptions): OidcProvider {
  let discovering: Promise<Configuration> | undefined;

  // At the first sign-in, so that the server starts without the provider. A failure is not remembered.
  function discover(): Promise<Configuration> {
    discovering ??= readProvider().catch((error: unknown) => {
      discovering = undefined;
      throw new OidcFailure("unreachable", { cause: error });
    });
    return discovering;
  }

  async function readProvider(): Promise<Configuration> {
    const oidc = await import("openid-client");
    const authentication = clientSecret === null ? oidc.None() : oidc.ClientSecretPost(clientSecret);
    // Checks the signature of ID tokens too, and allows http, which the configuration permits on this machine only.
    const execute = [oidc.enableNonRepudiationChecks, ...(issuer.startsWith("http:") ? [oidc.allowInsecureRequests] : [])];
    return oidc.discovery(new URL(issuer), clientId, undefined, authentication, { timeout: RESPONSE_SECONDS, execute });
  }

  return {
    async start() {
      const [provider, oidc] = [await discover(), await import("openid-client")];
      const pending = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier: oidc.randomPKCECodeVerifier() };
      const url = oidc.buildAuthorizationUrl(provider, {
        redirect_uri: redirectUri,
        scope: "openid email profile",
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(pending.verifier),
        code_challenge_method: "S256",
      });
      return { url: url.href, pending };
    },

    async finish(callback, { state, nonce, verifier }) {
      const [provider, oidc] = [await discover(), await import("openid-client")];
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
      const tokens = await oidc.authorizationCodeGrant(provider, callback, checks).catch((error: unknown) => {
        throw new OidcFailure(faultOf(error), { cause: error });
      });
      const claims = tokens.claims() as (Claims & { iss: string; sub: string }) | undefined;
      if (!claims) throw new OidcFailure("invalid");
      const rule = ruleFor(allow, claims);
      if (rule === null) throw new OidcFailure("not_allowed");
      return { subject: `${claims.iss} ${claims.sub}`, name: nameOf(claims), rule };
    },

    hasRule: (rule) => allow.includes(rule),
  };
}

function nameOf({ email, name, sub }: Claims): string {
  const texts = [email, name, sub].filter((text): text is string => typeof text === "string" && text !== "");
  return (texts[0] ?? "").replace(/\p{Cc}/gu, "").slice(0, MAX_NAME);
}

// The library wraps failures of the network and of its own checks; only the names tell them apart.
function faultOf(error: unknown): OidcFault {
  const { name, code } = error as { name?: string; code?: string };
  if (name === "AuthorizationResponseError") return "denied";
  return code === "OAUTH_TIMEOUT" || (error instanceof TypeError && error.message === "fetch failed") ? "unreachable" : "invalid";
}
