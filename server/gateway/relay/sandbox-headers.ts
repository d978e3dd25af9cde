import type { IncomingHttpHeaders } from "node:http";

// What passes between a caller and a daemon. Both lists name what is allowed: keys and cookies of the caller never reach
// the sandbox, and nothing that it answers can act on our origin (no cookies, no redirects, no policies).
const TO_DAEMON = [
  "accept",
  "content-length",
  "content-type",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "range",
];
const FROM_DAEMON = [
  "accept-ranges",
  "allow",
  "content-disposition",
  "content-length",
  "content-range",
  "content-type",
  "etag",
  "last-modified",
  "x-error-code",
];

export const toDaemonHeaders = (headers: IncomingHttpHeaders): Record<string, string> => pick(headers, TO_DAEMON);

// The answer may be a file of the user's, of any type. A browser must never take it for a page, a script or a frame of ours.
export function fromDaemonHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const picked = pick(headers, FROM_DAEMON);
  return {
    ...picked,
    "content-disposition": attachment(picked["content-disposition"]),
    "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": picked["etag"] === undefined ? "no-store" : "private, no-cache",
  };
}

// The only trailer that means something to a caller. It needs a body of unknown length: Node refuses any other.
export const announcesExitCode = (headers: IncomingHttpHeaders): boolean =>
  headers["content-length"] === undefined && String(headers["trailer"]).toLowerCase() === EXIT_CODE;

export function fromDaemonTrailers(trailers: Record<string, string>): Record<string, string> {
  const code = trailers[EXIT_CODE];
  return code !== undefined && /^-?\d{1,5}$/.test(code) ? { [EXIT_CODE]: code } : {};
}

const EXIT_CODE = "x-exit-code";

function attachment(disposition: string | undefined): string {
  const parameters = /^\s*(?:attachment|inline)\s*(;.*)$/i.exec(disposition ?? "")?.[1];
  return `attachment${parameters ?? ""}`;
}

// Only values that Node would send again; a hostile daemon may use bytes that it would not.
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/;

function pick(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = headers[name];
    if (typeof value === "string" && SENDABLE.test(value)) picked[name] = value;
  }
  return picked;
}
