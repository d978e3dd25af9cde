import type { IncomingMessage } from "node:http";
import type { ForwardableAnswer } from "@berth/contract/forwarding/forwarding.ts";
import { RelayRefusal } from "./relay-refusal.ts";
import { isBelow, type RelayTarget } from "./relay-target.ts";

// Replaces answers of a git server that git in the sandbox could only misunderstand: it would ask for a password, or follow a
// redirect without the credential. None of their bodies reaches the sandbox.
export function explainGitAnswer({ statusCode: status }: ForwardableAnswer): void {
  if (status >= 300 && status < 400)
    throw new RelayRefusal(502, "The git server redirects to another address. Create the session with that address.");
  if (status === 401 || status === 403) throw new RelayRefusal(403, "The git server did not accept the token.");
  if (status === 404) throw new RelayRefusal(404, "The repository does not exist, or the token does not allow this.");
  // The page of an error may repeat the request, with the token in it.
  if (status >= 400) throw new RelayRefusal(502, `The git server answered with status ${status}.`);
}

// Where a redirect leads, as the sandbox sees it: below the upstream through the relay, elsewhere without it. null: no redirect.
export function locationFor({ headers: { location } }: IncomingMessage, upstream: string, target: RelayTarget, prefix: string) {
  if (location === undefined || !URL.canParse(location, target.url.href)) return null;
  const leadsTo = new URL(location, target.url);
  const base = new URL(upstream);
  if (leadsTo.origin !== base.origin || !isBelow(leadsTo, base)) return leadsTo.href;
  return `${prefix}${leadsTo.pathname.slice(base.pathname.replace(/\/+$/, "").length)}${leadsTo.search}`;
}
