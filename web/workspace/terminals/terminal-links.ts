import { openPreview } from "../state/actions.ts";
import type { Workspace } from "../state/workspace.ts";
import { parseLocalUrl } from "../text/local-url.ts";

// Opens a URL that is written on the screen. The sandbox's localhost is not the browser's, so the preview of the port opens
// instead: in a tab of the workspace, or with Control or Command in a tab of the browser.
export function openUrl(workspace: Workspace, event: MouseEvent, uri: string): void {
  const { notices, ports } = workspace;
  const local = parseLocalUrl(uri);
  if (local === null) window.open(uri, "_blank", "noopener");
  else if (event.ctrlKey || event.metaKey)
    void notices.attempt(`Could not open port ${local.port}`, () => ports.openInNewTab(local.port, local.path));
  else openPreview(workspace, local.port, local.path);
}

// Opens a link whose text a program chose, so that the text says nothing about the URL.
export async function openHiddenUrl(workspace: Workspace, event: MouseEvent, uri: string): Promise<void> {
  if (parseLocalUrl(uri) || (await workspace.dialogs.confirm("Open this link?", uri, "Open", "primary"))) openUrl(workspace, event, uri);
}
