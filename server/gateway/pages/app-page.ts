import type { WorkspaceSession } from "@berth/contract/workspace.ts";
import { SESSION_ELEMENT } from "@berth/contract/workspace.ts";

// The app's page for one session. It carries what the app would ask for first, so that nothing waits for the answer: the
// session itself, as data that no browser runs, and the address of the first folder, to be fetched while scripts load.
export function workspacePage(page: string, session: WorkspaceSession): { body: string; headers: Record<string, string> } {
  const data = JSON.stringify(session).replaceAll("<", "\\u003c");
  const body = page.replace("</head>", () => `<script type="application/json" id="${SESSION_ELEMENT}">${data}</script></head>`);
  const folder = `</workspace/${session.sandboxId}/api/files?path=>; rel=preload; as=fetch; crossorigin`;
  return { body, headers: session.status === "running" ? { link: folder } : {} };
}
