import type { ILink, ILinkProvider, Terminal as Xterm } from "@xterm/xterm";
import type { Uses } from "../../actions/actions.ts";
import { chooseFile, findFileLinks, type FileLink } from "./file-links.ts";
import { parseLocalUrl } from "./local-url.ts";
import { nameOf } from "../../text/paths.ts";
import { readLine } from "./buffer-text.ts";

type Deps = Uses<"api" | "dialogs" | "notices" | "openFile" | "openPageOfPort" | "ports">;

// Opens a URL that is written on the screen. The sandbox's localhost is not the browser's, so the preview of the port opens
// instead: in a tab of the workspace, or with Control or Command in a tab of the browser.
export function openUrl(deps: Deps, event: MouseEvent, uri: string): void {
  const { notices, ports } = deps;
  const local = parseLocalUrl(uri);
  if (local === null) window.open(uri, "_blank", "noopener");
  else if (event.ctrlKey || event.metaKey)
    void notices.attempt(`Could not open port ${local.port}`, () => ports.openInNewTab(local.port, local.path));
  else deps.openPageOfPort(local.port, local.path);
}

// Opens a link whose text a program chose, so that the text says nothing about the URL.
export async function openHiddenUrl(deps: Deps, event: MouseEvent, uri: string): Promise<void> {
  if (parseLocalUrl(uri) || (await deps.dialogs.confirm("Open this link?", uri, "Open", "primary"))) openUrl(deps, event, uri);
}

// Opens a file that a program named, at its line.
export async function openFileLink(deps: Deps, { path, line, column }: FileLink): Promise<void> {
  await deps.notices.attempt(`Could not open ${path}`, async () => {
    const { paths } = await deps.api.findFiles(nameOf(path), MAX_CANDIDATES);
    const found = chooseFile(path, paths);
    if (found === null) throw new Error("It is not in this workspace");
    deps.openFile(found, { line, column });
  });
}

const MAX_CANDIDATES = 200;
const MAX_ROWS = 30;

// Finds the names of files with a line on the screen.
export function fileLinkProvider(deps: Deps, xterm: Xterm): ILinkProvider {
  return {
    provideLinks(row, callback) {
      const line = readLine(xterm.buffer.active, row - 1, MAX_ROWS);
      const links = findFileLinks(line.text).map((link): ILink => {
        const [start, end] = [line.cellAt(link.start), line.cellAt(link.start + link.length - 1)];
        // xterm counts links from 1.
        const range = { start: { x: start.column + 1, y: start.row + 1 }, end: { x: end.column + 1, y: end.row + 1 } };
        return { text: link.path, range, activate: () => void openFileLink(deps, link) };
      });
      callback(links);
    },
  };
}
