import { SESSION_ELEMENT, type WorkspaceSession } from "@berth/contract/workspace.ts";

// The session as it was when the server sent this page; null where the page came from elsewhere (Vite's own server).
export function sessionInPage(): WorkspaceSession | null {
  const text = document.getElementById(SESSION_ELEMENT)?.textContent;
  return text ? (JSON.parse(text) as WorkspaceSession) : null;
}
