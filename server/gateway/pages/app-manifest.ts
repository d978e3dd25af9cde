import type { WorkspaceSession } from "@berth/contract/workspace/workspace.ts";

export const MANIFEST = "manifest.webmanifest";

// Lets a browser install a workspace as an app. The app starts at the workspace's own URL, which holds no secret: the browser's
// cookie opens it, and without the cookie the page says how to come back.
export function workspaceManifest({ sandboxId, partnerName }: Pick<WorkspaceSession, "sandboxId" | "partnerName">): string {
  const url = `/workspace/${sandboxId}/`;
  return JSON.stringify({
    id: url,
    start_url: url,
    scope: url,
    name: `${partnerName} workspace`,
    short_name: partnerName,
    display: "standalone",
    background_color: "#f6f7f9",
    theme_color: "#f6f7f9",
    icons: [{ src: "/workspace/assets/icon.svg", type: "image/svg+xml", sizes: "any", purpose: "any" }],
  });
}
