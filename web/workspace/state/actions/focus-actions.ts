import { isFocusWithin } from "../../browser/focus.ts";
import { isNarrowScreen } from "../../browser/media-query.ts";
import { activeTabOf } from "../tabs/editor-groups.ts";
import type { SideView } from "../page/layout.ts";
import type { Workspace } from "../workspace.ts";

// Commands that move the keyboard focus between the parts of the page, as in VS Code.

export function focusEditor({ layout, documents, cursor, focusRequest }: Workspace): void {
  if (isNarrowScreen()) layout.set({ sideOpen: false, agentOpen: false });
  const active = activeTabOf(layout.store.getState());
  if (active?.kind === "file" && documents.documentAt(active.path)) cursor.requestFocus(active.path);
  else focusRequest.set("tab");
}

// Shows the active tab a second time, in the group on the right, with the keyboard focus.
export function splitEditor(workspace: Workspace): void {
  workspace.layout.split();
  focusEditor(workspace);
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

// Shows the terminals with the keyboard focus. If they have the focus already, they are hidden.
export function focusTerminals(workspace: Workspace): void {
  if (workspace.layout.store.getState().terminalsOpen && isFocusWithin(".terminal-panel")) toggleTerminals(workspace);
  else workspace.terminals.open();
}

// The focus must not fall to the page when the terminals that had it disappear.
export function toggleTerminals(workspace: Workspace): void {
  const { layout, terminals } = workspace;
  if (!layout.store.getState().terminalsOpen) return terminals.open();
  const hadFocus = isFocusWithin(".terminal-panel");
  layout.toggle("terminalsOpen");
  if (hadFocus) focusEditor(workspace);
}
