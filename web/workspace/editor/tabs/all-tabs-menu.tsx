import { Menu, type MenuItem } from "../../parts/menu.tsx";
import { usePage, usePageState } from "../../state/context.ts";
import { openTabs } from "../../state/tabs/editor-groups.ts";
import { TabIcon } from "./tab-icon.tsx";
import { folderShown, tabName } from "./tab-names.ts";

// The tabs in every group.
export default function AllTabsMenu({ at, onClose }: { at: { x: number; y: number }; onClose: () => void }) {
  const { layout } = usePage();
  const state = usePageState("layout", (layoutState) => layoutState);
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
