import type { KeyScope } from "@berth/contract";
import type { SessionAccess } from "../../session-access.ts";

// The API key or session token that a request carries, and its partner.
export interface Principal {
  // The id of the key or of the token.
  keyId: string;
  // Set for a token, which may only make the calls that have a scope for tokens. `scope` is that of keys.
  token?: SessionAccess;
  scope: KeyScope;
  partner: {
    id: string;
    maxSessions: number | null;
    maxSessionsPerUser: number | null;
    ratePerMinute: number | null;
    idleTimeoutMs: number | null;
  };
}

// null: the key is unknown, revoked or expired. Returns a promise only if the database has to be asked.
export type Authenticate = (key: string) => Principal | null | Promise<Principal | null>;

// The key from `Authorization: Bearer` or `X-API-Key`; null if there is none or if two keys differ. Reads the raw headers,
// because Node joins or drops repeated ones.
export function presentedKey(rawHeaders: readonly string[]): string | null {
  let bearer: string | null = null;
  let apiKey: string | null = null;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 13 && name.toLowerCase() === "authorization") {
      const key = bearerToken(rawHeaders[i + 1]!);
      if (key === null) continue;
      if (bearer !== null && bearer !== key) return null;
      bearer = key;
    } else if (name.length === 9 && name.toLowerCase() === "x-api-key") {
      const key = rawHeaders[i + 1]!.trim();
      if (apiKey !== null && apiKey !== key) return null;
      apiKey = key;
    }
  }
  if (bearer !== null && apiKey !== null && bearer !== apiKey) return null;
  return bearer ?? apiKey;
}

// null if the scheme is another.
function bearerToken(value: string): string | null {
  const text = value.trim();
  if (text.slice(0, 6).toLowerCase() !== "bearer") return null;
  if (text.length === 6) return "";
  return text[6] === " " || text[6] === "\t" ? text.slice(7).trim() : null;
}
