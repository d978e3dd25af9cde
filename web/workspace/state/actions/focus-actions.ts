import { isFocusWithin } from "../../browser/focus.ts";
import { isNarrowScreen } from "../../browser/media-query.ts";
import { activeTabOf } from "../tabs/editor-groups.ts";
import type { Workspace } from "../workspace.ts";

// Actions that move the keyboard focus between the parts of the page.

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

// The focus must not fall to the page when the terminals that had it disappear.
export function toggleTerminals(workspace: Workspace): void {
  const { layout, terminals } = workspace;
  if (!layout.store.getState().terminalsOpen) return terminals.open();
  const hadFocus = isFocusWithin(".terminal-panel");
  layout.toggle("terminalsOpen");
  if (hadFocus) focusEditor(workspace);
}
