import { isHarmlessPath } from "../../harmless-path.ts";
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
  return isHarmlessPath(url.pathname);
}

const leadsElsewhere = () => new RelayRefusal(403, "The address is not below the address of this relay.");
