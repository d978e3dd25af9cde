// Messages between a workspace in a frame and the partner's page around it. The workspace talks only to the origins that the
// operator has registered for the partner. Plain types, no imports: browsers load this file too.

// Every message has this field, which distinguishes it from other messages of the page.
export const EMBED_VERSION = 1;

interface Message {
  berth: typeof EMBED_VERSION;
}

// From the workspace. `hello` carries nothing and goes to any origin; all others follow a `connect` from a registered one.
export type WorkspaceMessage = Message & ({ type: "hello" } | WorkspaceEvent);

export type WorkspaceEvent = { sessionId: string } & (
  | { type: "ready"; status: "running" | "paused" }
  | { type: "paused"; reason: "timeout" | "idle" | "failed" | "partner" }
  | { type: "resumed" }
  // The timeout will pause the session in a few minutes.
  | { type: "timeout-warning"; expiresAt: string }
  | { type: "destroyed" }
  // The person asks for the paused session. Call `resume` in your backend, then send `resume-done`.
  | { type: "needs-resume" }
);

// A message from the partner's page. Lines and columns start at 1.
export type PageMessage = Message &
  (
    | { type: "connect"; canResume: boolean }
    | { type: "resume-done" }
    | { type: "theme"; theme: "light" | "dark" | "system" }
    | { type: "open-file"; path: string; line?: number; column?: number }
  );
