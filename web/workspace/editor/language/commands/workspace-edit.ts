import { MAX_TEXT_BYTES } from "../../../state/documents/content.ts";
import type { TextReplacement } from "../../../state/documents/open-files.ts";
import { decodeText, encodeText } from "../../../text/encoding.ts";
import type { TextEdit, WorkspaceEdit } from "../protocol/messages.ts";
import { pathAt } from "../protocol/uris.ts";
import type { Uses } from "../../../actions/actions.ts";

type Deps = Uses<"api" | "documents">;

// Applies a change of several files: in the editors of open files, where it can be undone, and on disk for the others. Returns
// the number of changed files. Throws before anything has changed if a part of the change is not possible.
export async function applyWorkspaceEdit(deps: Deps, rootUri: string, edit: WorkspaceEdit): Promise<number> {
  const byPath = editsByPath(rootUri, edit);
  const notOpen = [...byPath].filter(([path]) => !deps.documents.bufferOf(path));
  const written = await Promise.all(notOpen.map(async ([path, edits]) => [path, await edited(deps, path, edits)] as const));
  for (const [path, edits] of byPath) deps.documents.bufferOf(path)?.replace(edits.map(asReplacement));
  for (const [path, { bytes, etag }] of written) await deps.api.writeFile(path, bytes, etag);
  return byPath.size;
}

function editsByPath(rootUri: string, { changes = {}, documentChanges }: WorkspaceEdit): Map<string, TextEdit[]> {
  const all: [uri: string, TextEdit[]][] =
    documentChanges?.map((change) => {
      if ("kind" in change) throw new Error("The change would also create, move or delete files");
      return [change.textDocument.uri, change.edits];
    }) ?? Object.entries(changes);
  const byPath = new Map<string, TextEdit[]>();
  for (const [uri, edits] of all) {
    const path = pathAt(rootUri, uri);
    if (path === null) throw new Error("The change would affect files outside the workspace");
    if (edits.length > 0) byPath.set(path, [...(byPath.get(path) ?? []), ...edits]);
  }
  return byPath;
}

export const asReplacement = ({ range, newText }: TextEdit): TextReplacement => ({ ...range, text: newText });

async function edited({ api, documents }: Deps, path: string, edits: TextEdit[]) {
  // A file that is open in a tab but was never shown may have an unsaved text.
  await documents.flush(path);
  const { bytes, etag } = await api.readFile(path, MAX_TEXT_BYTES);
  const decoded = bytes === null ? null : decodeText(bytes);
  if (decoded === null) throw new Error(`${path} is not a text file`);
  return { bytes: encodeText(applyEdits(decoded.text, edits), decoded.encoding), etag };
}

// Applies edits whose positions all refer to the original text.
export function applyEdits(text: string, edits: TextEdit[]): string {
  const starts = [0];
  for (const match of text.matchAll(/\r\n|\n|\r/g)) starts.push(match.index + match[0].length);
  const offset = ({ line, character }: { line: number; character: number }) =>
    Math.min((starts[line] ?? text.length) + character, starts[line + 1] ?? text.length);
  const lineBreak = text.includes("\r\n") ? "\r\n" : "\n";
  return (
    edits
      .map(({ range, newText }) => ({ from: offset(range.start), to: offset(range.end), insert: newText.replace(/\r?\n/g, lineBreak) }))
      // From the end, so that positions stay valid. Insertions at the same place keep their order.
      .toReversed()
      .toSorted((a, b) => b.from - a.from)
      .reduce((result, { from, to, insert }) => result.slice(0, from) + insert + result.slice(to), text)
  );
}
