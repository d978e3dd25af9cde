// Who calls. A key comes as `Authorization: Bearer` or as `X-API-Key`; when both are there they must agree.

export interface Principal {
  keyId: string;
  partner: {
    id: string;
    maxSessions: number | null;
    maxSessionsPerUser: number | null;
    ratePerMinute: number | null;
  };
}

// null: no such key, or one that is over. Mostly answered from memory, so not always a promise.
export type Authenticate = (key: string) => Principal | null | Promise<Principal | null>;

export function presentedKey(rawHeaders: readonly string[]): string | null {
  // Node joins or drops repeated headers as it sees fit, so this looks at what was really sent.
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

// null for any other scheme.
function bearerToken(value: string): string | null {
  const text = value.trim();
  if (text.slice(0, 6).toLowerCase() !== "bearer") return null;
  if (text.length === 6) return "";
  return text[6] === " " || text[6] === "\t" ? text.slice(7).trim() : null;
}
