import { RelayRefusal } from "./relay-refusal.ts";

// Where a request of a sandbox goes.
export interface RelayTarget {
  method: string;
  url: URL;
  // The headers of the sandbox that are passed on. null: all but those that concern the connection.
  passedHeaders: ReadonlySet<string> | null;
}

// TRACE would answer with the header that the server added.
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

// The address below `upstream` that `rest` names: a path with a query. Throws if it leads anywhere else.
export function relayTarget(upstream: string, method: string | undefined, rest: string): RelayTarget {
  if (method === undefined || !METHODS.has(method)) throw new RelayRefusal(405, "The relay does not pass on this method.");
  const base = new URL(upstream.replace(/\/+$/, ""));
  const text = `${base.href.replace(/\/+$/, "")}${rest}`;
  if (!URL.canParse(text)) throw leadsElsewhere();
  const url = new URL(text);
  if (url.origin !== base.origin || url.username !== "" || url.password !== "" || !isBelow(url, base)) throw leadsElsewhere();
  url.hash = "";
  return { method, url, passedHeaders: null };
}

export function isBelow(url: URL, base: URL): boolean {
  const folder = base.pathname.replace(/\/+$/, "");
  if (url.pathname !== folder && !url.pathname.startsWith(`${folder}/`)) return false;
  return url.pathname.split("/").every(isHarmless);
}

// Servers differ in how they read a part of a path: some decode it more than once, take `\\` for `/`, end it at a NUL or ignore
// parameters after `;`. None of these readings may lead out of the folder.
function isHarmless(part: string): boolean {
  let text = part;
  for (let round = 0; round < MAX_DECODINGS; round++) {
    if (/\p{Cc}/u.test(text) || text.split(/[/\\]/).some((name) => /^\.\.?$/.test(name.split(";")[0]!.trim()))) return false;
    const decoded = decode(text);
    if (decoded === text) return true;
    // A sign of percent that encodes nothing is text, unless the sandbox sent it as it is.
    if (decoded === null) return round > 0;
    text = decoded;
  }
  return false;
}

const MAX_DECODINGS = 4;

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

const leadsElsewhere = () => new RelayRefusal(403, "The address is not below the address of this relay.");
