import type { SessionToken } from "@berth/contract";
import type { Token } from "../../keys/session-tokens.ts";

// A session token as the API and the console show it.
export const toToken = ({ id, name, scopes, ports, state, createdAt, expiresAt, revokedAt }: Token): SessionToken => ({
  tokenId: id,
  name,
  scopes: [...scopes],
  ports: ports && [...ports],
  state,
  createdAt: timeOf(createdAt),
  expiresAt: timeOf(expiresAt),
  revokedAt: revokedAt === null ? null : timeOf(revokedAt),
});

const timeOf = (ms: number): string => new Date(ms).toISOString();
