import type { FileChange } from "@berth/contract/daemon.ts";
import type { LSPClient } from "@codemirror/lsp-client";
import { pathAt, uriAt } from "./uris.ts";

const CREATED = 1;
const CHANGED = 2;
const DELETED = 3;
const MAX_KNOWN = 10_000;

// Tells a server which files have changed on disk, because it does not watch them itself.
export function createFileReports(rootUri: string, client: LSPClient): (changes: readonly FileChange[]) => void {
  // Our events do not distinguish new files from changed ones. A file counts as new when it is reported for the first time:
  // then the server also looks again for what it did not find before.
  const known = new Set<string>();
  return (changes) => {
    const opened = new Map(client.workspace.files.map(({ uri }) => [pathAt(rootUri, uri), uri]));
    const reports = changes.map(({ path, kind }) => {
      const isKnown = known.has(path) || opened.has(path);
      if (kind === "deleted") known.delete(path);
      else if (known.size < MAX_KNOWN) known.add(path);
      return { uri: uriAt(rootUri, path), type: kind === "deleted" ? DELETED : isKnown ? CHANGED : CREATED };
    });
    client.notification("workspace/didChangeWatchedFiles", { changes: reports });
    for (const { path } of changes) {
      const uri = opened.get(path);
      if (uri !== undefined) client.notification("textDocument/didSave", { textDocument: { uri } });
    }
  };
}
