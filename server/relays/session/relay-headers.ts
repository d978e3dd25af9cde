import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { endToEndHeaders } from "@berth/contract/forwarding/forwarding.ts";
import type { RelayTarget } from "./relay-target.ts";

// The headers of the sandbox, and the one that only the server knows. An empty name: there is none.
export function upstreamHeaders(
  { headers }: IncomingMessage,
  { url, passedHeaders }: RelayTarget,
  { header, value }: { header: string; value: string },
): OutgoingHttpHeaders {
  const own = header.toLowerCase();
  const passed = Object.entries(endToEndHeaders(headers)).filter(
    ([name]) => name !== own && (passedHeaders === null || passedHeaders.has(name)),
  );
  return { ...Object.fromEntries(passed), host: url.host, ...(own !== "" && { [own]: value }) };
}

// A challenge would make programs ask people for a password that they do not have.
const NOT_RETURNED = new Set(["www-authenticate", "location"]);

export function answerHeaders({ headers }: IncomingMessage, location: string | null): OutgoingHttpHeaders {
  const passed = Object.entries(endToEndHeaders(headers)).filter(([name]) => !NOT_RETURNED.has(name));
  return { ...Object.fromEntries(passed), ...(location !== null && { location }) };
}
