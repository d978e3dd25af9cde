import { readJson, type Transport } from "./http/transport.ts";
import type { CreateSessionToken, SessionToken, SessionTokenWithSecret } from "./types/api-types.ts";

// Tokens that open this session, and in it only what their scopes name, for programs and people without your key.
export interface SessionTokens {
  // This is the only response with the token itself.
  create(request: CreateSessionToken): Promise<SessionTokenWithSecret>;
  // Oldest first.
  list(): Promise<SessionToken[]>;
  // Takes effect within 5 seconds. Idempotent.
  revoke(tokenId: string): Promise<SessionToken>;
}

export function createSessionTokens(send: Transport, sessionPath: string): SessionTokens {
  const url = `${sessionPath}/tokens`;
  return {
    create: (request) => readJson(send({ method: "POST", url, json: request, idempotencyKey: true, repeatable: true })),
    list: async () => (await readJson<{ data: SessionToken[] }>(send({ method: "GET", url }))).data,
    revoke: (tokenId) => readJson(send({ method: "DELETE", url: `${url}/${encodeURIComponent(tokenId)}` })),
  };
}
