import type { EditorView } from "@codemirror/view";
import { readText } from "../../../state/documents/read-text.ts";
import type { TextLocation } from "../../../state/tabs/cursor.ts";
import type { Uses } from "../../../actions/actions.ts";
import { nameOf } from "../../../text/paths.ts";
import type { Location, LocationLink } from "../protocol/messages.ts";
import { ask, positionAt, wordAt } from "../protocol/request.ts";
import { pathAt } from "../protocol/uris.ts";

export type LanguageDeps = Uses<"api" | "documents" | "languages" | "notices" | "openFile" | "picker">;

export interface NavigationDeps extends LanguageDeps {
  rootUri: string;
}

// A place in a file, with the text of its line.
interface FoundLocation extends TextLocation {
  path: string;
  text: string;
}

const MAX_LISTED = 1000;
const MAX_FILES_READ = 100;

export async function goToDefinition(deps: NavigationDeps, view: EditorView, offset = view.state.selection.main.head): Promise<void> {
  const { notices, openFile, rootUri } = deps;
  const answer = await ask<Location | (Location | LocationLink)[]>(view, "textDocument/definition", { position: positionAt(view, offset) });
  const found = [answer ?? []].flat().map(asLocation);
  const inside = await describe(deps, found.slice(0, MAX_LISTED));
  const [first] = inside;
  if (first && inside.length === 1) return openFile(first.path, { line: first.line, column: first.column });
  if (first) return pick(deps, `Definitions of ${wordAt(view, offset)}`, inside);
  const outside = found.find(({ uri }) => pathAt(rootUri, uri) === null);
  const word = wordAt(view, offset);
  if (outside) notices.info(`${word} is defined outside the workspace, in ${nameOf(outside.uri)}`);
  else if (word !== "") notices.info(`No definition was found for ${word}`);
}

export async function findReferences(deps: NavigationDeps, view: EditorView): Promise<void> {
  const { head } = view.state.selection.main;
  const params = { position: positionAt(view, head), context: { includeDeclaration: true } };
  const found = (await ask<Location[]>(view, "textDocument/references", params)) ?? [];
  const listed = await describe(deps, found.slice(0, MAX_LISTED));
  const word = wordAt(view, head);
  if (listed.length > 0) pick(deps, `References to ${word}`, listed);
  else deps.notices.info(word === "" ? "Put the cursor on a name first" : `No references were found for ${word}`);
}

function pick(deps: LanguageDeps, title: string, locations: FoundLocation[]): void {
  const items = locations.map(({ text, ...place }) => ({
    id: `${place.path}:${place.line}:${place.column}`,
    label: text.trim(),
    detail: `${place.path}:${place.line}`,
    // While the list is open, nothing else can take the focus.
    run: () => void setTimeout(() => deps.openFile(place.path, place)),
  }));
  deps.picker.open({ title, placeholder: `${title} (${locations.length})`, items });
}

const asLocation = (each: Location | LocationLink): Location =>
  "targetUri" in each ? { uri: each.targetUri, range: each.targetSelectionRange } : each;

// Adds the text of each line. Locations outside the workspace are left out, because they cannot be opened.
async function describe({ rootUri, ...deps }: NavigationDeps, locations: Location[]): Promise<FoundLocation[]> {
  const inside = locations.flatMap(({ uri, range }) => {
    const path = pathAt(rootUri, uri);
    return path === null ? [] : [{ path, line: range.start.line + 1, column: range.start.character + 1, length: lengthOf(range) }];
  });
  const paths = [...new Set(inside.map(({ path }) => path))].slice(0, MAX_FILES_READ);
  const lines = new Map(await Promise.all(paths.map(async (path) => [path, (await readText(deps, path))?.split(/\r?\n/)] as const)));
  return inside
    .map((place) => ({ ...place, text: lines.get(place.path)?.[place.line - 1] ?? "" }))
    .toSorted((a, b) => (a.path === b.path ? a.line - b.line || a.column - b.column : a.path < b.path ? -1 : 1));
}

const lengthOf = ({ start, end }: Location["range"]): number => (start.line === end.line ? end.character - start.character : 0);
