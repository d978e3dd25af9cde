import { fitsPattern } from "../matching/path-pattern.ts";

// A person who has the workspace open, as their launch URL described them. Plain types, because the browser loads this file too.
export interface Visitor {
  role: Role;
  // The name that the partner gave the person, which is untrusted text. null: a guest.
  displayName: string | null;
  // The operator's support, where the partner allows it. Always a viewer.
  isSupport?: true;
}

export const SUPPORT_VISITOR: Visitor = { role: "viewer", displayName: "Support", isSupport: true };

// An editor may do everything in the workspace. A viewer sees it and changes nothing.
export type Role = "editor" | "viewer";

export const ANONYMOUS_EDITOR: Visitor = { role: "editor", displayName: null };
export const MAX_DISPLAY_NAME_LENGTH = 64;

// The server tells the daemon who makes a request of the workspace page. Without these headers, the caller is the server itself or a
// partner's backend, which may do everything. The daemon repeats ROLE_HEADER when it accepts a viewer's WebSocket: a daemon that does
// not know roles would let the viewer type.
export const ROLE_HEADER = "x-berth-role";
// Percent-encoded, because a header cannot have all characters.
export const NAME_HEADER = "x-berth-name";

// All calls of the daemon's API that a viewer may make. The server and the daemon refuse every other call, so a new call is refused until
// it is listed here. A call that is listed must change nothing for others. `WS` is a WebSocket; what a viewer sends over it is limited
// where it is read.
export const VIEWER_CALLS: readonly ViewerCall[] = [
  ["GET", "/health"],
  ["WS", "/events"],
  ["WS", "/together"],
  ["GET", "/files"],
  ["GET", "/files/content"],
  ["HEAD", "/files/content"],
  ["GET", "/files/ignored"],
  ["GET", "/files/archive"],
  ["GET", "/files/find"],
  ["GET", "/search"],
  ["GET", "/ports"],
  ["GET", "/programs"],
  ["GET", "/processes/:id/events"],
  ["GET", "/terminals"],
  ["WS", "/terminals/:id"],
  ["GET", "/agent"],
  ["GET", "/agent/conversations"],
  ["GET", "/agent/conversations/:id"],
  ["GET", "/agent/images/:id"],
  ["WS", "/agent/stream"],
  ["GET", "/changes"],
  ["GET", "/changes/original"],
  ["GET", "/git/status"],
  ["GET", "/git/branches"],
  ["GET", "/git/content"],
  ["GET", "/git/history"],
  ["GET", "/git/blame"],
];

export type ViewerCall = readonly [method: string, path: string];

// `path` is a path of the daemon's API without a query. `:name` in the list matches one segment.
export function isViewerCall(method: string, path: string): boolean {
  return VIEWER_CALLS.some(([allowedMethod, allowedPath]) => method === allowedMethod && fitsPattern(allowedPath, path));
}
