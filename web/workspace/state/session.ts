import { SESSION_ELEMENT, type WorkspaceSession } from "@berth/contract/workspace/workspace.ts";
import type { Api } from "../connection/api.ts";
import { createResume, resumeWhenSeen } from "./session/resume.ts";
import { createSessionStore } from "./session/session-store.ts";

export type Session = ReturnType<typeof createSession>;

// The session as the server describes it, and what this visitor may do with it.
export function createSession(api: Api) {
  const status = createSessionStore();
  const embedded = readEmbeddedSession();
  if (embedded) status.update(embedded);
  // A viewer changes nothing. The server and the daemon enforce it; the page only leaves out what would be refused.
  const mayEdit = embedded?.visitor.role !== "viewer";
  const resume = createResume({ resume: api.resume, onSession: status.update });
  if (mayEdit && embedded?.status === "paused" && embedded.autoResume) resumeWhenSeen(resume);
  return {
    ...status,
    mayEdit,
    resume,
    // The settings on the server are those of the user whom the session belongs to.
    settingsOwner: (mayEdit && embedded?.settingsOwner) || "unknown",
    visitorName: () => status.store.getState().session?.visitor.displayName,
  };
}

// The session that the server embedded in this page. Null if the page came from Vite's development server.
function readEmbeddedSession(): WorkspaceSession | null {
  const text = document.getElementById(SESSION_ELEMENT)?.textContent;
  return text ? (JSON.parse(text) as WorkspaceSession) : null;
}
