import { isLoopbackUrl } from "../../network/loopback.ts";
import { anyText, httpUrl, list, matching, type Kind } from "../kinds.ts";
import { variable } from "../variable.ts";

// An address at which no one else can answer. Only this machine may use http.
const issuer: Kind<string> = {
  allowed: "an https:// address, or an http:// address of this machine",
  parse(text) {
    const url = httpUrl.parse(text);
    return url !== undefined && (url.startsWith("https:") || isLoopbackUrl(url)) ? url : undefined;
  },
};

const rule = matching(
  /^(@[a-z0-9.-]+|[^@\s=,]+@[a-z0-9.-]+|[\w:/.-]+=[^,]+)$/i,
  "an e-mail address, @domain or claim=value, such as groups=operators",
);

// Sign-in to the console with OpenID Connect.
export const CONSOLE_VARIABLES = {
  oidcIssuer: variable<string | null>({
    name: "BERTH_CONSOLE_OIDC_ISSUER",
    kind: issuer,
    default: null,
    defaultHelp: "sign-in with operator tokens only",
    help: "Identity provider with which operators sign in to the console, over OpenID Connect.",
  }),
  oidcClientId: variable<string | null>({
    name: "BERTH_CONSOLE_OIDC_CLIENT_ID",
    kind: anyText,
    default: null,
    defaultHelp: "none; required with an issuer",
    help: "Id of Berth at the identity provider. Its redirect URI is `{base URL}/console/oidc/callback`.",
  }),
  oidcClientSecret: variable<string | null>({
    name: "BERTH_CONSOLE_OIDC_CLIENT_SECRET",
    kind: anyText,
    default: null,
    defaultHelp: "not set, for a public client",
    secret: true,
    help: "Secret of Berth at the identity provider.",
  }),
  oidcAllow: variable<readonly string[]>({
    name: "BERTH_CONSOLE_OIDC_ALLOW",
    kind: list(rule),
    default: [],
    defaultHelp: "no one",
    help: "Who may sign in, separated by commas: e-mail addresses, `@domain` for all verified addresses of a domain, or `claim=value`, such as `groups=operators`.",
  }),
};
