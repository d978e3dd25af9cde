import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

// A small OpenID provider on this machine. It asks no one for a password: the test says who signs in.
export interface IdentityProvider extends AsyncDisposable {
  issuer: string;
  // The claims of the next ID tokens, besides those that a correct provider sets itself. A test can replace these too.
  claims: Record<string, unknown>;
  // A fault of the provider's responses.
  fault: "none" | "denies" | "other key" | "unsigned" | "silent";
}

export const CLIENT = { clientId: "berth", clientSecret: "not-a-real-secret" };
const HOUR_SECONDS = 3600;

export async function startIdentityProvider(): Promise<IdentityProvider> {
  const [own, other] = [newKey(), newKey()];
  const grants = new Map<string, { nonce: string; challenge: string; redirectUri: string }>();
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider: IdentityProvider = {
    issuer,
    claims: {},
    fault: "none",
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", issuer);
    if (provider.fault === "silent") return;
    if (pathname === "/.well-known/openid-configuration") return sendJson(response, 200, metadata(issuer));
    if (pathname === "/jwks") return sendJson(response, 200, { keys: [own.jwk] });
    if (pathname === "/authorize") return authorize(searchParams, response);
    if (pathname === "/token") return grantToken(new URLSearchParams(await text(request)), response);
    sendJson(response, 404, {});
  }

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    const back = new URL(query.get("redirect_uri") ?? "");
    back.searchParams.set("state", query.get("state") ?? "");
    if (provider.fault === "denies") back.searchParams.set("error", "access_denied");
    else {
      const code = randomUUID();
      const challenge = query.get("code_challenge_method") === "S256" ? (query.get("code_challenge") ?? "") : "";
      grants.set(code, { nonce: query.get("nonce") ?? "", challenge, redirectUri: query.get("redirect_uri") ?? "" });
      back.searchParams.set("code", code);
    }
    response.writeHead(302, { location: back.href }).end();
  }

  function grantToken(body: URLSearchParams, response: ServerResponse): void {
    const grant = grants.get(body.get("code") ?? "");
    grants.delete(body.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(body.get("code_verifier") ?? "")
      .digest("base64url");
    const isClient = body.get("client_id") === CLIENT.clientId && body.get("client_secret") === CLIENT.clientSecret;
    if (!grant || grant.challenge !== challenge || grant.redirectUri !== body.get("redirect_uri") || !isClient)
      return sendJson(response, 400, { error: "invalid_grant" });
    const nowSeconds = Math.floor(Date.now() / 1000);
    const times = { iat: nowSeconds, exp: nowSeconds + HOUR_SECONDS };
    const claims = { iss: issuer, sub: "ada-1", aud: CLIENT.clientId, nonce: grant.nonce, ...times, ...provider.claims };
    const id_token = provider.fault === "unsigned" ? unsigned(claims) : signed(claims, provider.fault === "other key" ? other : own);
    sendJson(response, 200, { access_token: "unused", token_type: "Bearer", id_token });
  }

  return provider;
}

function newKey() {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { privateKey, jwk: { ...publicKey.export({ format: "jwk" }), kid: "one", alg: "RS256", use: "sig" } };
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function signed(claims: object, { privateKey }: ReturnType<typeof newKey>): string {
  const input = `${encode({ alg: "RS256", kid: "one", typ: "JWT" })}.${encode(claims)}`;
  return `${input}.${sign("RSA-SHA256", Buffer.from(input), privateKey).toString("base64url")}`;
}

const unsigned = (claims: object): string => `${encode({ alg: "none", typ: "JWT" })}.${encode(claims)}.`;

const metadata = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
  response_types_supported: ["code"],
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["RS256"],
  token_endpoint_auth_methods_supported: ["client_secret_post"],
  code_challenge_methods_supported: ["S256"],
});

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
