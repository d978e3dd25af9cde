import type { IncomingHttpHeaders } from "node:http";
import { OUTPUT_HEADERS } from "@berth/contract/daemon/processes.ts";
import { NAME_HEADER, ROLE_HEADER, type Visitor } from "@berth/contract/workspace/visitor.ts";

// The headers that the relay passes between a caller and a daemon. Both are allowlists: the caller's keys and cookies never
// reach the sandbox, and a sandbox's reply cannot act on our origin (no cookies, redirects or policies). Previews have
// their own rules in preview/preview-headers.ts.
const TO_SANDBOX = new Set([
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
]);
const FROM_SANDBOX = new Set([
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
]);

export const headersToSandbox = (headers: IncomingHttpHeaders): Record<string, string> => pick(headers, TO_SANDBOX);

// Tells the daemon who the person at the workspace page is.
export const visitorHeaders = ({ role, displayName }: Visitor): Record<string, string> => ({
  ...(role !== "editor" && { [ROLE_HEADER]: role }),
  ...(displayName !== null && { [NAME_HEADER]: encodeURIComponent(displayName) }),
});

// The reply may be a user's file of any type. These headers stop a browser from treating it as our page, script or frame.
export function headersFromSandbox(headers: IncomingHttpHeaders): Record<string, string> {
  const picked = pick(headers, FROM_SANDBOX);
  const retryAfter = headers["retry-after"];
  if (isShortWait(retryAfter)) picked["retry-after"] = retryAfter;
  picked["content-disposition"] = attachment(picked["content-disposition"]);
  picked["content-security-policy"] = "sandbox; default-src 'none'; frame-ancestors 'none'";
  picked["cross-origin-resource-policy"] = "same-origin";
  picked["referrer-policy"] = "no-referrer";
  picked["x-content-type-options"] = "nosniff";
  picked["cache-control"] = picked["etag"] === undefined ? "no-store" : "private, no-cache";
  return picked;
}

// In seconds: the daemon sends it with 503, and a hostile one must not stop callers for hours.
const isShortWait = (value: string | undefined): value is string => value !== undefined && /^\d{1,2}$/.test(value);

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

function pick(headers: IncomingHttpHeaders, names: ReadonlySet<string>): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (names.has(name) && typeof value === "string" && isSendable(value)) picked[name] = value;
  }
  return picked;
}
