import type { WorkspaceSession } from "@berth/contract/workspace/workspace.ts";
import { SESSION_ELEMENT } from "@berth/contract/workspace/workspace.ts";
import { MANIFEST } from "./app-manifest.ts";

// The app's page for one session. It embeds the first data that the app needs, to save round trips: the session, as inert JSON, and a
// preload link for the root folder, which the browser fetches while scripts load.
export function workspacePage(page: string, session: WorkspaceSession): { body: string; headers: Record<string, string> } {
  const data = JSON.stringify(session).replaceAll("<", "\\u003c");
  // A browser requests a manifest without cookies unless the link says otherwise.
  const manifest = `<link rel="manifest" href="/workspace/${session.sandboxId}/${MANIFEST}" crossorigin="use-credentials" />`;
  const body = page.replace("</head>", () => `${manifest}<script type="application/json" id="${SESSION_ELEMENT}">${data}</script></head>`);
  const preload = `</workspace/${session.sandboxId}/api/files?details=names&path=>; rel=preload; as=fetch; crossorigin`;
  return { body, headers: session.status === "running" ? { link: preload } : {} };
}
