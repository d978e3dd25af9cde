import type { IncomingHttpHeaders } from "node:http";
import { OUTPUT_HEADERS } from "@berth/contract/daemon/processes.ts";
import { NAME_HEADER, ROLE_HEADER, type Visitor } from "@berth/contract/workspace/visitor.ts";

// The headers that the relay passes between a caller and a daemon. Both are allowlists: the caller's keys and cookies never
// reach the sandbox, and a sandbox's reply cannot act on our origin (no cookies, redirects or policies). Previews have
// their own rules in preview/preview-headers.ts.
const TO_SANDBOX = [
  "accept",
  "content-length",
  "content-type",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "last-event-id",
  "range",
];
const FROM_SANDBOX = [
  "accept-ranges",
  "allow",
  "content-disposition",
  "content-length",
  "content-range",
  "content-type",
  "etag",
  "last-modified",
  "x-error-code",
  ...Object.values(OUTPUT_HEADERS),
];

export const headersToSandbox = (headers: IncomingHttpHeaders): Record<string, string> => pick(headers, TO_SANDBOX);

// Tells the daemon who the person at the workspace page is.
export const visitorHeaders = ({ role, displayName }: Visitor): Record<string, string> => ({
  ...(role !== "editor" && { [ROLE_HEADER]: role }),
  ...(displayName !== null && { [NAME_HEADER]: encodeURIComponent(displayName) }),
});

// The reply may be a user's file of any type. These headers stop a browser from treating it as our page, script or frame.
export function headersFromSandbox(headers: IncomingHttpHeaders): Record<string, string> {
  const picked = pick(headers, FROM_SANDBOX);
  return {
    ...picked,
    ...retryAfter(headers["retry-after"]),
    "content-disposition": attachment(picked["content-disposition"]),
    "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": picked["etag"] === undefined ? "no-store" : "private, no-cache",
  };
}

// Only a short wait in seconds: the daemon sends it with 503, and a hostile one must not stop callers for hours.
const retryAfter = (value: string | undefined): Record<string, string> =>
  value !== undefined && /^\d{1,2}$/.test(value) ? { "retry-after": value } : {};

// X-Exit-Code is the only trailer that is relayed. Node allows trailers only on a body of unknown length.
export const announcesExitCode = (headers: IncomingHttpHeaders): boolean =>
  headers["content-length"] === undefined && String(headers["trailer"]).toLowerCase() === EXIT_CODE;

export function trailersFromSandbox(trailers: Record<string, string>): Record<string, string> {
  const code = trailers[EXIT_CODE];
  return code !== undefined && /^-?\d{1,5}$/.test(code) ? { [EXIT_CODE]: code } : {};
}

const EXIT_CODE = "x-exit-code";

function attachment(disposition: string | undefined): string {
  const parameters = /^\s*(?:attachment|inline)\s*(;.*)$/i.exec(disposition ?? "")?.[1];
  return `attachment${parameters ?? ""}`;
}

// False for bytes that Node refuses to write in a header. A hostile daemon may send them.
export const isSendable = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value);

function pick(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = headers[name];
    if (typeof value === "string" && isSendable(value)) picked[name] = value;
  }
  return picked;
}
