import type { IncomingMessage } from "node:http";
import { headerOf } from "../requests/reply.ts";
import type { GatewayPartner } from "./session-cache.ts";

// What a browser is told about who may embed what and load what from where, and the checks on what it tells about the
// page that a request comes from. Our cookies travel in frames of other sites, so these checks are what keeps other
// sites from using them.

export function frameAncestors(partner: GatewayPartner): string {
  return ["'self'", ...partner.origins.filter((origin) => ORIGIN.test(origin))].join(" ");
}

const ORIGIN = /^https?:\/\/(\*\.)?[a-z0-9.-]+(:\d{1,5})?$/i;

// The workspace page. Scripts come from the app's own folder alone: other addresses on this origin lead into sandboxes.
export function appPolicy(baseUrl: string, ancestors: string, previewDomain: string | null): string {
  const { protocol, host, origin } = new URL(baseUrl);
  const assets = `${origin}/workspace/assets/`;
  const socket = `${protocol === "https:" ? "wss:" : "ws:"}//${host}`;
  return [
    "default-src 'none'",
    `script-src ${assets}`,
    `worker-src ${assets}`,
    // The editor and the terminal make style elements of their own.
    "style-src 'self' 'unsafe-inline'",
    `font-src ${assets} data:`,
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    `connect-src 'self' ${socket}`,
    `frame-src ${previewDomain === null ? "'none'" : `${protocol}//*.${previewDomain}`}`,
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${ancestors}`,
  ].join("; ");
}

// A change, and every WebSocket, must come from a page of `origin` itself.
export function isFromOrigin(request: IncomingMessage, origin: string): boolean {
  return headerOf(request, "origin") === origin;
}

export const isMutation = (request: IncomingMessage): boolean => request.method !== "GET" && request.method !== "HEAD";

// A read that another site's page causes. Browsers that do not say are let through: the answer says that it is not for others.
export function isFromElsewhere(request: IncomingMessage): boolean {
  const site = headerOf(request, "sec-fetch-site");
  return site !== undefined && site !== "same-origin" && site !== "none";
}

// Whether a browser would run or apply the answer as a part of a page.
export function wouldBeExecuted(request: IncomingMessage): boolean {
  return EXECUTED.has(headerOf(request, "sec-fetch-dest") ?? "") || request.headers["service-worker"] !== undefined;
}

const EXECUTED = new Set([
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

export function isPrefetch(request: IncomingMessage): boolean {
  const purposes = [headerOf(request, "sec-purpose"), headerOf(request, "purpose"), headerOf(request, "x-moz")];
  return purposes.some((purpose) => /prefetch|prerender|preview/i.test(purpose ?? ""));
}
