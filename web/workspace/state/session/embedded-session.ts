import { SESSION_ELEMENT, type WorkspaceSession } from "@berth/contract/workspace.ts";

// The session that the server embedded in this page. Null if the page came from Vite's development server.
export function readEmbeddedSession(): WorkspaceSession | null {
  const text = document.getElementById(SESSION_ELEMENT)?.textContent;
  return text ? (JSON.parse(text) as WorkspaceSession) : null;
}
