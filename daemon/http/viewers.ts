import type { IncomingMessage } from "node:http";
import { AppError } from "@berth/contract/errors.ts";
import { ROLE_HEADER, VIEWER_CALLS } from "@berth/contract/workspace/visitor.ts";

// Viewers see the workspace and change nothing. The server has checked their calls already; a call that it let through by mistake is
// refused here.

// True for every role but `editor`, so that a role that this daemon does not know gets the fewest rights.
export function isViewer({ headers }: IncomingMessage): boolean {
  const role = headers[ROLE_HEADER];
  return role !== undefined && role !== "editor";
}

// Throws if a viewer makes a call that is not in the list. `path` is that of the route.
export function requireAllowed(request: IncomingMessage, method: string, path: string): void {
  if (!isViewer(request)) return;
  if (!VIEWER_CALLS.some(([allowedMethod, allowedPath]) => allowedMethod === method && allowedPath === path))
    throw new AppError("view_only");
}
