import type { IncomingMessage } from "node:http";
import type { CachedSession } from "../access/session-cache.ts";
import type { PreviewTarget } from "./preview-link.ts";

// Decides about requests for previews without a cookie.
export interface PreviewGuests {
  // null: as for any other request. A refusal is sent as JSON.
  admit(request: IncomingMessage, target: PreviewTarget, cached: CachedSession | null): GuestDecision | null;
}

// `host`: the Host that the web server sees.
export type GuestDecision = { admitted: true; host?: string } | { admitted: false; status: number; body: object };
