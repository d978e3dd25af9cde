// Rules for the addresses and headers of servers that sandboxes reach through a relay.

// Headers that a relay must not set, because they decide how the request is read.
export const FORBIDDEN_HEADERS: ReadonlySet<string> = new Set(
  "host connection content-length transfer-encoding upgrade te trailer expect".split(" "),
);

// The pattern of the schema has excluded users, queries and fragments.
export function isUsableUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password, pathname } = new URL(text);
  // A parser may have removed dots, and then the path is not the one that the caller has seen.
  const seen = text.replace(/^\w+:\/\/[^/]*/, "");
  return username === "" && password === "" && seen.replace(/\/+$/, "") === pathname.replace(/\/+$/, "");
}
