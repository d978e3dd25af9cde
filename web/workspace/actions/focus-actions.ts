import { isFocusWithin } from "../browser/focus.ts";
import { isNarrowScreen } from "../browser/media-query.ts";
import { activeTabOf } from "../state/tabs/editor-groups.ts";
import type { State } from "../state/context.ts";

type Deps = Pick<State, "cursor" | "documents" | "focusRequest" | "layout" | "terminals">;

// Actions that move the keyboard focus between the parts of the page.
export function createFocusActions({ cursor, documents, focusRequest, layout, terminals }: Deps) {
  return { focusEditor, splitEditor, toggleTerminals };

  function focusEditor(): void {
    if (isNarrowScreen()) layout.set({ sideOpen: false, agentOpen: false });
    const active = activeTabOf(layout.store.getState());
    if (active?.kind === "file" && documents.documentAt(active.path)) cursor.requestFocus(active.path);
    else focusRequest.set("tab");
  }

  // Shows the active tab a second time, in the group on the right, with the keyboard focus.
  function splitEditor(): void {
    layout.split();
    focusEditor();
  }

  // The focus must not fall to the page when the terminals that had it disappear.
  function toggleTerminals(): void {
    if (!layout.store.getState().terminalsOpen) return terminals.open();
    const hadFocus = isFocusWithin(".terminal-panel");
    layout.toggle("terminalsOpen");
    if (hadFocus) focusEditor();
  }
}
