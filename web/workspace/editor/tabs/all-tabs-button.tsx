import { ChevronDown } from "lucide-react";
import { useState, type MouseEvent } from "react";
import { IconButton } from "../../parts/icon-button.tsx";
import { Menu, type MenuItem } from "../../parts/menu.tsx";
import { useWorkspace, useWorkspaceState } from "../../state/context.ts";
import { openTabs } from "../../state/page/editor-groups.ts";
import { TabIcon } from "./tab-icon.tsx";
import { folderShown, tabName } from "./tab-names.ts";

// A menu of the tabs in every group, for those that are scrolled out of view.
export function AllTabsButton() {
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
      {at && <AllTabs at={at} onClose={() => setAt(null)} />}
    </>
  );
}

function AllTabs({ at, onClose }: { at: { x: number; y: number }; onClose: () => void }) {
  const { layout } = useWorkspace();
  const state = useWorkspaceState("layout", (layoutState) => layoutState);
  const items = state.groups.flatMap(({ id: group, tabs, activeTab }, index) =>
    tabs.map((tab, place): MenuItem => {
      const folder = folderShown(tab, openTabs(state));
      return {
        id: `${group} ${tab.id}`,
        label: folder === null ? tabName(tab) : `${tabName(tab)} · ${folder}`,
        icon: <TabIcon tab={tab} />,
        current: group === state.activeGroup && tab.id === activeTab,
        divided: index > 0 && place === 0,
        run: () => layout.activateTab(group, tab.id),
      };
    }),
  );
  return <Menu label="All open tabs" at={at} items={items} onClose={onClose} />;
}
