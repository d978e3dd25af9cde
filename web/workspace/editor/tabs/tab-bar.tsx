import { ChevronDown, Columns2, Eye } from "lucide-react";
import { lazy, Suspense, useEffect, useState, type KeyboardEvent, type MouseEvent, type RefObject } from "react";
import { loadModule } from "../../browser/load-module.ts";
import { formatShortcut } from "../../browser/shortcuts.ts";
import { useIsNarrowScreen } from "../../browser/media-query.ts";
import { IconButton } from "../../parts/icon-button.tsx";
import { useTabStrip } from "../../parts/use-tab-strip.ts";
import { usePage, usePageState } from "../../state/context.ts";
import { isMarkdown } from "../../text/paths.ts";
import { useActions } from "../../actions/actions.ts";
import { activeTabIn, type EditorGroup } from "../../state/tabs/editor-group.ts";
import { MAX_GROUPS } from "../../state/tabs/editor-groups.ts";
import type { Tab } from "../../state/tabs/tab.ts";
import { TabButton } from "./tab-button.tsx";
import { useTabDrop } from "./use-tab-drop.ts";

const AllTabsMenu = lazy(() => loadModule(() => import("./all-tabs-menu.tsx")));
const TabMenu = lazy(() => loadModule(() => import("./tab-menu.tsx")));

export function TabBar({ group, label }: { group: EditorGroup; label: string }) {
  const { layout } = usePage();
  const { openMarkdownPreview, splitEditor } = useActions();
  const { tabs, activeTab } = group;
  const strip = useTabStrip(activeTab);
  const drop = useTabDrop(group.id);
  const [menu, setMenu] = useState<{ tab: Tab; at: { x: number; y: number } } | null>(null);
  const overflows = useOverflow(strip.ref, tabs);
  const groupCount = usePageState("layout", ({ groups }) => groups.length);
  const narrow = useIsNarrowScreen();
  const active = activeTabIn(group);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    layout.cycleTab(event.key === "ArrowRight" ? 1 : -1);
    requestAnimationFrame(() => strip.ref.current?.querySelector<HTMLElement>('[role="tab"][aria-selected="true"]')?.focus());
  };
  const dropMark = (at: number) => (drop.index === at ? "before" : drop.index === tabs.length && at === tabs.length - 1 ? "after" : null);

  return (
    <div className="tabs" {...drop.handlers}>
      <div {...strip} className="tab-list" role="tablist" aria-label={label} tabIndex={-1} onKeyDown={onKeyDown}>
        {tabs.map((tab, index) => (
          <TabButton key={tab.id} tab={tab} group={group} dropMark={dropMark(index)} onMenu={(at) => setMenu({ tab, at })} />
        ))}
      </div>
      <div className="tab-actions">
        {active?.kind === "file" && isMarkdown(active.path) && (
          <IconButton label="Open preview" onClick={() => openMarkdownPreview()}>
            <Eye size={15} />
          </IconButton>
        )}
        {!narrow && active && groupCount < MAX_GROUPS && (
          <IconButton label="Split editor" title={`Split editor (${formatShortcut("Mod+\\")})`} onClick={() => splitEditor()}>
            <Columns2 size={15} />
          </IconButton>
        )}
        {(overflows || (narrow && groupCount > 1)) && <AllTabsButton />}
      </div>
      <Suspense>{menu && <TabMenu {...menu} group={group} onClose={() => setMenu(null)} />}</Suspense>
    </div>
  );
}

// Whether the content of an element is wider than the element.
function useOverflow(element: RefObject<HTMLElement | null>, content: unknown): boolean {
  const [overflows, setOverflows] = useState(false);
  useEffect(() => {
    const measured = element.current;
    if (!measured) return;
    const observer = new ResizeObserver(() => setOverflows(measured.scrollWidth > measured.clientWidth));
    observer.observe(measured);
    return () => observer.disconnect();
  }, [element, content]);
  return overflows;
}

// A menu of the tabs in every group, for those that are scrolled out of view.
function AllTabsButton() {
  const [at, setAt] = useState<{ x: number; y: number } | null>(null);
  const showMenu = (event: MouseEvent<HTMLElement>) => {
    const { right, bottom } = event.currentTarget.getBoundingClientRect();
    setAt({ x: right, y: bottom });
  };
  return (
    <>
      <IconButton label="All open tabs" aria-haspopup="menu" aria-expanded={at !== null} onClick={showMenu}>
        <ChevronDown size={15} />
      </IconButton>
      <Suspense>{at && <AllTabsMenu at={at} onClose={() => setAt(null)} />}</Suspense>
    </>
  );
}
