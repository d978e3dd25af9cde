// The server's API for the workspace page. The page also uses the daemon's API (daemon.ts) below
// `/workspace/{sandboxId}/api/`. Every request needs the workspace cookie; without it, the response is 401. Errors are
// `{error, details?}` with the code in the header X-Error-Code. Plain types: the browser loads this file too.
import type { Visitor } from "./visitor.ts";

// GET /workspace/{sandboxId}/session          WorkspaceSession
// GET /workspace/{sandboxId}/session/stream   the same as server-sent events: `data: {WorkspaceSession}` immediately and
//   after every change. A comment line every STREAM_KEEP_ALIVE_MS shows that the connection is alive. The stream ends after `destroyed`,
//   when the cookie expires (the next GET is 401), and when the server stops.
//
// Both work in every state, even if the sandbox is paused or gone. The page itself contains a WorkspaceSession as JSON, in
// the element with this id.
export const SESSION_ELEMENT = "session";
export const STREAM_KEEP_ALIVE_MS = 5000;

// How a partner changes the look of the workspace.
export interface Branding {
  // A data: URL of an image; null for our own.
  logo: string | null;
  // `#rrggbb`; null for our own colour.
  accent: string | null;
  hideAgent: boolean;
  // Whether people can open the session in a desktop editor or over SSH. Their machines need the `berth` command and access.
  offerSsh: boolean;
}

export interface WorkspaceSession {
  // The person who has this page open.
  visitor: Visitor;
  // Whether the operator's support has the workspace open.
  hasSupportVisit: boolean;
  sessionId: string;
  sandboxId: string;
  status: "running" | "paused" | "destroyed";
  // Why the session is paused or destroyed; null if the partner did it.
  reason: "timeout" | "idle" | "failed" | "expired" | "diskFull" | "diskFailed" | null;
  // Grows with every change. The page ignores a message with an older generation.
  generation: number;
  partnerName: string;
  // Names the user whose settings apply, without telling who it is. The browser stores its copy of the settings under this name.
  settingsOwner: string;
  branding: Branding;
  // The origins of the partner's pages that may have the workspace in a frame and exchange messages with it (embed.ts).
  embedOrigins: readonly string[];
  // When the timeout will pause or destroy the session; null unless it is running.
  expiresAtMs: number | null;
  // When the session will be paused if it is not used before, and when the warning appears; null without an idle timeout.
  idlePause: { atMs: number; warnAtMs: number } | null;
  onTimeout: "pause" | "destroy";
  // Until when the person may extend the session; null if not at all.
  extendUntilMs: number | null;
  // Whether the page may resume the session if it is paused.
  autoResume: boolean;
  // The repository that the session starts with; null without one.
  source: { status: "pending" | "ready" | "failed"; reason: string | null } | null;
  // Whether the session's image is built or its setup command runs. The Setup terminal shows it.
  isSettingUp: boolean;
  // The server's time, because the browser's clock may be wrong.
  serverNowMs: number;
  // The URL pattern of previews, with `{port}` for the number; null if the server has no preview domain. For display only:
  // POST /preview returns a working link.
  previewUrl: string | null;
}

// POST /workspace/{sandboxId}/source/retry
// Fetches a repository again that could not be fetched. 409 unless that is so.

// POST /workspace/{sandboxId}/activity
// A person uses the page. It matters only to a session with an idle timeout. The page sends it at most once in
// ACTIVITY_INTERVAL_MS, and at once when the person was warned.
export const ACTIVITY_INTERVAL_MS = 30_000;

// POST /workspace/{sandboxId}/resume  -> WorkspaceSession
// A person opens a session with `autoResume` that is paused: the page was loaded, or its button was clicked. The response is 503 with
// Retry-After if there is no room, and 409 without `autoResume`.
//
// POST /workspace/{sandboxId}/extend  -> WorkspaceSession
// Adds the timeout of the session once more, as far as `extendUntilMs` allows. No-op if that is less than MIN_EXTENSION_MS.
export const MIN_EXTENSION_MS = 60_000;

// GET /workspace/{sandboxId}/settings               -> UserSettings
// PUT /workspace/{sandboxId}/settings UserSettings  -> {version}
// The settings of the user whom the session belongs to (the partner's externalUserId), in every session of that user. A PUT
// names the version that the page has read; if another browser has written since, the response is 412. At most
// MAX_SETTINGS_BYTES, and 60 writes a minute.
export const MAX_SETTINGS_BYTES = 32 * 1024;

export interface UserSettings {
  settings: Record<string, unknown>;
  // 0: nothing is stored.
  version: number;
}

// POST /workspace/{sandboxId}/preview {port}  -> PreviewLink
// Returns a signed link to a port of the sandbox on a separate origin. It is valid for one minute. Opening it in a tab or an
// iframe sets that origin's cookie and redirects to `path` (default "/").
//
// With `shareHours` the link is one to pass on: everyone who has it can use this port, and nothing else of the sandbox, for that
// many hours (at most BERTH_PREVIEW_SHARE_HOURS, otherwise 403), while the session exists.
export interface PreviewRequest {
  port: number;
  path?: string;
  shareHours?: number;
}
// A page in the preview's frame reports its address to the workspace as `{type: PREVIEW_ADDRESS_MESSAGE, path}`.
export const PREVIEW_ADDRESS_MESSAGE = "berth.preview-address";

export interface PreviewLink {
  url: string;
  expiresAtMs: number;
}
