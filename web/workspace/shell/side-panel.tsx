import { lazy, Suspense, useEffect, useRef, type RefObject } from "react";
import { loadModule } from "../browser/load-module.ts";
import { usePage, usePageState } from "../state/context.ts";
import { Explorer } from "../files/explorer.tsx";

const importSearch = () => import("../search/search-panel.tsx");
const importChanges = () => import("../changes/changes-panel.tsx");
const importProblems = () => import("../problems/problems-panel.tsx");
const importPorts = () => import("../ports/ports-panel.tsx");

const panels = {
  files: Explorer,
  search: lazy(() => loadModule(importSearch)),
  changes: lazy(() => loadModule(importChanges)),
  problems: lazy(() => loadModule(importProblems)),
  ports: lazy(() => loadModule(importPorts)),
  programs: lazy(() => loadModule(() => import("../programs/programs-panel.tsx"))),
};

// Loads the panels that most people use before they are needed, so that the first one that is shown can be used at once. A failure is not
// handled before a panel is shown, because the page would reload while the person types.
export const prefetchSidePanels = () => Promise.allSettled([importSearch(), importChanges(), importProblems(), importPorts()]);

export function SidePanel() {
  const view = usePageState("layout", (state) => state.sideView);
  const Panel = panels[view];
  const aside = useRef<HTMLElement>(null);
  return (
    <aside ref={aside} className="side-panel" aria-label={view}>
      <Suspense fallback={<div className="loading-center" aria-busy="true" />}>
        <Panel />
        <FocusOnRequest panel={aside} />
      </Suspense>
    </aside>
  );
}

// Beside the panel's content, so that it waits until that is loaded.
function FocusOnRequest({ panel }: { panel: RefObject<HTMLElement | null> }) {
  const { focusRequest } = usePage();
  const focusRequested = usePageState("focusRequest", (state) => state.target === "side");
  useEffect(() => {
    if (!focusRequested) return;
    const main = firstOf(panel.current, MAIN_ELEMENTS);
    main?.focus();
    // Selects the text, so that typing replaces it.
    if (main instanceof HTMLInputElement) main.select();
    focusRequest.clear();
  }, [focusRequest, focusRequested, panel]);
  return null;
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
