// What the workspace page asks of the server itself, next to the daemon's API (daemon.ts), which it reaches below
// `/workspace/{sandboxId}/api/`. All of it needs the workspace cookie; without one the answer is 401. Errors are
// `{error, details?}` with the code in the header X-Error-Code. Plain types, no imports: the browser loads this file too.

// GET /workspace/{sandboxId}/session          WorkspaceSession
// GET /workspace/{sandboxId}/session/stream   the same as server-sent events: `data: {WorkspaceSession}` at once and after
//   every change. A comment line at least every 20 s shows that the connection lives. The stream ends after `destroyed`,
//   when the cookie stops being good (the next GET then is 401), and when the server stops.
//
// These two answer in every state, also when the sandbox is paused or gone: the page shows the state by itself. The page
// comes with a WorkspaceSession too, as JSON in the element with this id.
export const SESSION_ELEMENT = "session";

export interface WorkspaceSession {
  sessionId: string;
  sandboxId: string;
  status: "running" | "paused" | "destroyed";
  // Why it is paused or destroyed: null when a partner asked for it.
  reason: "timeout" | "failed" | "expired" | null;
  // Grows with every change; a page ignores what is older than what it has.
  generation: number;
  partnerName: string;
  // When a running session will be paused by its timeout; null when it is not running.
  expiresAtMs: number | null;
  // The server's clock when this was written, because the browser's may be wrong.
  serverNowMs: number;
  // Where ports open: `{port}` is replaced by the number. null when this server has no preview domain.
  // For display only: a link that works comes from the preview route below.
  previewUrl: string | null;
}

// POST /workspace/{sandboxId}/preview {port}  -> PreviewLink
// A fresh link to a port of the sandbox on its own origin, signed, good for one minute. Opened in a tab or an iframe it
// becomes that origin's cookie and leads to `path` (default "/").
export interface PreviewRequest {
  port: number;
  path?: string;
}
export interface PreviewLink {
  url: string;
  expiresAtMs: number;
}
