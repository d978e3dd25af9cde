import { isFocusWithin } from "../../browser/focus.ts";
import type { SideView } from "../page/layout.ts";
import { activeFile } from "../tabs/editor-groups.ts";
import { step } from "../tabs/places.ts";
import type { Workspace } from "../workspace.ts";
import { focusEditor, toggleTerminals } from "./focus-actions.ts";
import { openFile } from "./open-actions.ts";

// Commands that move the person between the parts of the page and between places in files, as in VS Code. They load with the
// palette's commands, because the first screen does not need them.

// Goes back to the last place, or forward again.
export function goBy(workspace: Workspace, by: 1 | -1): void {
  const next = step(workspace.places, by, activeFile(workspace.layout.store.getState()));
  const place = next?.all[next.at];
  if (!next || !place) return;
  Object.assign(workspace.places, next);
  openFile(workspace, place.path, { line: place.line, column: place.column });
}

// Shows the agent with the keyboard focus on its message. If it has the focus already, it is hidden and the editor gets the focus.
export function focusAgent(workspace: Workspace): void {
  const { layout, focusRequest } = workspace;
  if (layout.store.getState().agentOpen && isFocusWithin(".agent")) {
    layout.toggle("agentOpen");
    return focusEditor(workspace);
  }
  layout.show("agentOpen");
  focusRequest.set("agent");
}

// Goes to an editor group by its place. The place after the last one is a new group, as in VS Code.
export function focusGroup(workspace: Workspace, index: number): void {
  const { layout } = workspace;
  const { groups } = layout.store.getState();
  const group = groups[index];
  if (group) layout.focusGroup(group.id);
  else if (index === groups.length) layout.split();
  else return;
  focusEditor(workspace);
}

// Shows a view of the side panel with the keyboard focus. If it has the focus already, the editor gets it.
export function focusSideView(workspace: Workspace, view: SideView): void {
  const { layout, focusRequest } = workspace;
  const { sideOpen, sideView } = layout.store.getState();
  if (sideOpen && sideView === view && isFocusWithin(".side-panel")) return focusEditor(workspace);
  layout.showSideView(view);
  focusRequest.set("side");
}

// Always shows the search, because pressing its shortcut again starts another search. It takes the selected text.
export function focusSearch({ layout, focusRequest, search, cursor }: Workspace): void {
  const { selectedText } = cursor.store.getState();
  if (selectedText !== null) search.edit({ text: selectedText, regex: false });
  layout.showSideView("search");
  focusRequest.set("side");
}

// The same with the fields for replacing.
export function focusReplace(workspace: Workspace): void {
  workspace.search.showReplace(true);
  focusSearch(workspace);
}

// Shows the terminals with the keyboard focus. If they have the focus already, they are hidden.
export function focusTerminals(workspace: Workspace): void {
  if (workspace.layout.store.getState().terminalsOpen && isFocusWithin(".terminal-panel")) toggleTerminals(workspace);
  else workspace.terminals.open();
}
