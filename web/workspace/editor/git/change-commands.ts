import type { Text } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { applyChange, chunkAt, lineChanges, lineStart, openChunk, revertChange } from "./line-changes.ts";

// The commands of an editor that use the index.
export interface StagingArea {
  // Replaces the staged text of the file.
  stage(text: Text): Promise<void>;
}

const stagingAreas = new WeakMap<EditorView, StagingArea>();

export function connectStaging(view: EditorView, area: StagingArea): void {
  stagingAreas.set(view, area);
}

// Shows the change at a line, or hides it if it is shown.
export function toggleAt(view: EditorView, lineFrom: number): boolean {
  const changes = view.state.field(lineChanges, false);
  const chunk = changes && chunkAt(changes, lineFrom, view.state.doc);
  if (!changes || !chunk) return false;
  view.dispatch({ effects: openChunk.of(changes.opened === chunk ? null : chunk) });
  return true;
}

// Goes to the next change after the cursor, or to the one before it, and shows it.
export function moveToChange(view: EditorView, by: 1 | -1): boolean {
  const changes = view.state.field(lineChanges, false);
  if (!changes || changes.chunks.length === 0) return false;
  const { chunks, opened } = changes;
  const { doc, selection } = view.state;
  const line = doc.lineAt(selection.main.head).from;
  const next = (
    by === 1 ? chunks.findIndex(({ fromB }) => fromB > line) : chunks.findLastIndex((chunk) => lineStart(chunk, doc) < line)
  ) as number;
  const around = by === 1 ? 0 : chunks.length - 1;
  const from = opened ? chunks.indexOf(opened) + by : next === -1 ? around : next;
  const chunk = chunks[(from + chunks.length) % chunks.length];
  if (!chunk) return false;
  const at = lineStart(chunk, doc);
  view.dispatch({ selection: { anchor: at }, effects: [openChunk.of(chunk), EditorView.scrollIntoView(at, { y: "center" })] });
  view.focus();
  return true;
}

export function closePeek(view: EditorView): boolean {
  if (!view.state.field(lineChanges, false)?.opened) return false;
  view.dispatch({ effects: openChunk.of(null) });
  view.focus();
  return true;
}

export function revertOpened(view: EditorView): boolean {
  const changes = view.state.field(lineChanges, false);
  if (!changes?.opened || view.state.readOnly) return false;
  view.dispatch(revertChange(view.state, changes, changes.opened));
  closePeek(view);
  view.focus();
  return true;
}

export function stageOpened(view: EditorView): boolean {
  const changes = view.state.field(lineChanges, false);
  const area = stagingAreas.get(view);
  if (!changes?.opened || !area) return false;
  void area.stage(applyChange(view.state, changes, changes.opened));
  closePeek(view);
  return true;
}
