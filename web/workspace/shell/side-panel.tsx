import { ChangesPanel } from "../changes/changes-panel.tsx";
import { useEffect, useRef } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { Explorer } from "../files/explorer.tsx";
import { PortsPanel } from "../ports/ports-panel.tsx";
import { SearchPanel } from "../search/search-panel.tsx";

const panels = { files: Explorer, search: SearchPanel, changes: ChangesPanel, ports: PortsPanel };

export function SidePanel() {
  const view = useWorkspaceState("layout", (state) => state.sideView);
  const Panel = panels[view];
  const aside = useRef<HTMLElement>(null);
  const { focusRequest } = useWorkspace();
  const focusRequested = useWorkspaceState("focusRequest", (state) => state.target === "side");
  useEffect(() => {
    if (!focusRequested) return;
    const main = firstOf(aside.current, MAIN_ELEMENTS);
    main?.focus();
    // Selects the text, so that typing replaces it.
    if (main instanceof HTMLInputElement) main.select();
    focusRequest.clear();
  }, [focusRequest, focusRequested]);
  return (
    <aside ref={aside} className="side-panel" aria-label={view}>
      <Panel />
    </aside>
  );
}

// The element of a view that takes the keyboard focus: its text field, its tree, its first row or its first button.
const MAIN_ELEMENTS = ["input", "textarea", '[role="treeitem"][tabindex="0"]', ".panel-body button", "button"];

function firstOf(container: HTMLElement | null, selectors: string[]): HTMLElement | null {
  for (const selector of selectors) {
    const found = container?.querySelector<HTMLElement>(selector);
    if (found) return found;
  }
  return null;
}
