import { isFocusWithin } from "../browser/focus.ts";
import type { SideView } from "../state/page/layout.ts";
import { activeFile } from "../state/tabs/editor-groups.ts";
import { step } from "../state/tabs/places.ts";
import type { Uses } from "./actions.ts";

export type MoveActions = ReturnType<typeof createMoveActions>;

type Deps = Uses<"cursor" | "focusEditor" | "focusRequest" | "layout" | "openFile" | "places" | "search" | "terminals" | "toggleTerminals">;

// Commands that move the person between the parts of the page and between places in files, as in VS Code. They load with the
// palette's commands, because the first screen does not need them.
export function createMoveActions(deps: Deps) {
  const { cursor, focusRequest, layout, places, search, terminals, focusEditor, openFile, toggleTerminals } = deps;
  return { goBy, focusAgent, focusGroup, focusSideView, focusSearch, focusReplace, focusTerminals };

  // Goes back to the last place, or forward again.
  function goBy(by: 1 | -1): void {
    const next = step(places, by, activeFile(layout.store.getState()));
    const place = next?.all[next.at];
    if (!next || !place) return;
    Object.assign(places, next);
    openFile(place.path, { line: place.line, column: place.column });
  }

  // Shows the agent with the keyboard focus on its message. If it has the focus already, it is hidden and the editor gets the focus.
  function focusAgent(): void {
    if (layout.store.getState().agentOpen && isFocusWithin(".agent")) {
      layout.toggle("agentOpen");
      return focusEditor();
    }
    layout.show("agentOpen");
    focusRequest.set("agent");
  }

  // Goes to an editor group by its place. The place after the last one is a new group, as in VS Code.
  function focusGroup(index: number): void {
    const { groups } = layout.store.getState();
    const group = groups[index];
    if (group) layout.focusGroup(group.id);
    else if (index === groups.length) layout.split();
    else return;
    focusEditor();
  }

  // Shows a view of the side panel with the keyboard focus. If it has the focus already, the editor gets it.
  function focusSideView(view: SideView): void {
    const { sideOpen, sideView } = layout.store.getState();
    if (sideOpen && sideView === view && isFocusWithin(".side-panel")) return focusEditor();
    layout.showSideView(view);
    focusRequest.set("side");
  }

  // Always shows the search, because pressing its shortcut again starts another search. It takes the selected text.
  function focusSearch(): void {
    const { selectedText } = cursor.store.getState();
    if (selectedText !== null) search.edit({ text: selectedText, regex: false });
    layout.showSideView("search");
    focusRequest.set("side");
  }

  // The same with the fields for replacing.
  function focusReplace(): void {
    search.showReplace(true);
    focusSearch();
  }

  // Shows the terminals with the keyboard focus. If they have the focus already, they are hidden.
  function focusTerminals(): void {
    if (layout.store.getState().terminalsOpen && isFocusWithin(".terminal-panel")) toggleTerminals();
    else terminals.open();
  }
}
