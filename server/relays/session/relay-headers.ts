import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { RelayTarget } from "./relay-target.ts";

const OF_CONNECTION = new Set(
  "connection keep-alive proxy-connection proxy-authorization proxy-authenticate te trailer transfer-encoding upgrade expect host".split(
    " ",
  ),
);

// The headers of the sandbox, and the one that only the server knows.
export function upstreamHeaders(
  { headers }: IncomingMessage,
  { url, passedHeaders }: RelayTarget,
  { header, value }: { header: string; value: string },
): OutgoingHttpHeaders {
  const own = header.toLowerCase();
  const passed = endToEnd(headers).filter(([name]) => name !== own && (passedHeaders === null || passedHeaders.has(name)));
  return { ...Object.fromEntries(passed), host: url.host, [own]: value };
}

// A challenge would make programs ask people for a password that they do not have.
const NOT_RETURNED = new Set(["www-authenticate", "location"]);

export function answerHeaders({ headers }: IncomingMessage, location: string | null): OutgoingHttpHeaders {
  const passed = endToEnd(headers).filter(([name]) => !NOT_RETURNED.has(name));
  return { ...Object.fromEntries(passed), ...(location !== null && { location }) };
}

function endToEnd(headers: IncomingMessage["headers"]) {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  return Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name) && !named.includes(name));
}
