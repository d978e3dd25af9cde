import type { IncomingMessage } from "node:http";
import type { AppError } from "@berth/contract";
import type { CachedSession } from "../access/session-cache.ts";
import type { PreviewTarget } from "./preview-link.ts";

// Decides about requests for previews without a cookie.
export interface PreviewGuests {
  // null: as for any other request.
  admit(
    request: IncomingMessage,
    target: PreviewTarget,
    cached: CachedSession | null,
  ): GuestDecision | null | Promise<GuestDecision | null>;
}

// `host`: the Host that the web server sees. A refusal is an error of ours, or a reply as JSON.
export type GuestDecision =
  | { admitted: true; host?: string }
  | { admitted: false; error: AppError }
  | { admitted: false; error?: undefined; status: number; body: object };
