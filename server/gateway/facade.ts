import type { IncomingMessage, ServerResponse } from "node:http";
import type { OutputLimit } from "../event-loop/output-limit.ts";
import type { Activity } from "../sessions/idle/activity.ts";
import type { SessionCache } from "./access/session-cache.ts";
import type { Waker } from "./access/wake.ts";
import type { PreviewLinks } from "./preview/preview-link.ts";
import type { SessionLinks } from "./relay/session-links.ts";
import type { Handler } from "./requests/handler.ts";

// Another product's API for what runs in sandboxes (server/facades/). The gateway gives it its parts, and asks it first.
export interface Facade extends Handler {
  // True if the facade handles this request.
  owns(request: IncomingMessage): boolean;
}

export interface GatewayParts {
  sessionCache: SessionCache;
  sessions: Waker;
  links: SessionLinks;
  activity: Pick<Activity, "note" | "begin">;
  outputLimit: OutputLimit;
  parseHost: PreviewLinks["parseHost"];
  // The address of the caller, behind proxies that are trusted.
  addressOf: (request: IncomingMessage) => string;
  // Ends a response within seconds if the key or token of its request is revoked.
  endWithAccess: (request: IncomingMessage, response: ServerResponse) => void;
}
