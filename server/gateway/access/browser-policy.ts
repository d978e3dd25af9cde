import type { IncomingMessage } from "node:http";
import { headerOf } from "../requests/request-parts.ts";
import type { GatewayPartner } from "./session-cache.ts";

// Two kinds of policy: the headers that tell a browser who may frame a page and what the page may load, and the checks of
// the request headers that name the page behind a request. Other sites may frame our pages, so browsers attach our cookies
// to requests from there; these checks stop other sites from using them.

export function frameAncestors(partner: GatewayPartner): string {
  return ["'self'", ...partner.origins.filter((origin) => ORIGIN.test(origin))].join(" ");
}

const ORIGIN = /^https?:\/\/(\*\.)?[a-z0-9.-]+(:\d{1,5})?$/i;

// The policy of the workspace page. Scripts load only from the app's assets, because other paths on this origin lead into
// sandboxes.
export function contentSecurityPolicy(baseUrl: string, ancestors: string, previewDomain: string | null): string {
  const { protocol, host, origin } = new URL(baseUrl);
  const assets = `${origin}/workspace/assets/`;
  const socket = `${protocol === "https:" ? "wss:" : "ws:"}//${host}`;
  return [
    "default-src 'none'",
    `script-src ${assets}`,
    `worker-src ${assets}`,
    // The editor and the terminal create style elements.
    "style-src 'self' 'unsafe-inline'",
    `font-src ${assets} data:`,
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    `connect-src 'self' ${socket}`,
    // PDF files are shown in a frame, as a copy that the page has made. Chromium's viewer is an object in that frame.
    "object-src blob:",
    `frame-src blob:${previewDomain === null ? "" : ` ${protocol}//*.${previewDomain}`}`,
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${ancestors}`,
  ].join("; ");
}

// Mutations and WebSockets must come from a page of `origin`.
export function isFromOrigin(request: IncomingMessage, origin: string): boolean {
  return headerOf(request, "origin") === origin;
}

export const isMutation = (request: IncomingMessage): boolean => request.method !== "GET" && request.method !== "HEAD";

// True if a page of another origin caused the request. Browsers without Fetch Metadata pass: the Cross-Origin-Resource-Policy
// of the reply protects them.
export function isCrossOrigin(request: IncomingMessage): boolean {
  const site = headerOf(request, "sec-fetch-site");
  return site !== undefined && site !== "same-origin" && site !== "none";
}

// True if the browser would execute the reply or apply it to a page.
export function isActiveContentLoad(request: IncomingMessage): boolean {
  return ACTIVE_DESTINATIONS.has(headerOf(request, "sec-fetch-dest") ?? "") || request.headers["service-worker"] !== undefined;
}

const ACTIVE_DESTINATIONS = new Set([
  "audioworklet",
  "embed",
  "frame",
  "iframe",
  "manifest",
  "object",
  "paintworklet",
  "script",
  "serviceworker",
  "sharedworker",
  "style",
  "worker",
  "xslt",
]);

// True if a person opens a page in a tab. Not a frame, not what a page requests, and not a reload by the page itself: that has the same
// origin and no user. Browsers send these headers to https and localhost.
export function isPageOpening(request: IncomingMessage): boolean {
  if (request.method !== "GET" || isPrefetch(request)) return false;
  const mode = headerOf(request, "sec-fetch-mode");
  if (mode === undefined) return request.headers.accept?.includes("text/html") ?? false;
  if (mode !== "navigate" || headerOf(request, "sec-fetch-dest") !== "document") return false;
  return headerOf(request, "sec-fetch-user") === "?1" || headerOf(request, "sec-fetch-site") !== "same-origin";
}

export function isPrefetch(request: IncomingMessage): boolean {
  const purposes = [headerOf(request, "sec-purpose"), headerOf(request, "purpose"), headerOf(request, "x-moz")];
  return purposes.some((purpose) => /prefetch|prerender|preview/i.test(purpose ?? ""));
}
