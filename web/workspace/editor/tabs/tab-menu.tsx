import { Menu, type MenuItem } from "../../parts/menu.tsx";
import { usePage } from "../../state/context.ts";
import { useActions, type Uses } from "../../actions/actions.ts";
import { MAX_GROUPS } from "../../state/tabs/editor-groups.ts";
import type { EditorGroup } from "../../state/tabs/editor-group.ts";
import type { Tab } from "../../state/tabs/tab.ts";
import { tabName } from "./tab-names.ts";

type Deps = Uses<"closeAllTabs" | "closeOtherTabs" | "closeSavedTabs" | "closeTab" | "closeTabsToTheRight" | "layout" | "revealInTree">;

export interface TabMenuProps {
  tab: Tab;
  group: EditorGroup;
  at: { x: number; y: number };
  onClose: () => void;
}

export default function TabMenu({ tab, group, at, onClose }: TabMenuProps) {
  const deps = { ...usePage(), ...useActions() };
  return (
    <Menu
      label={`Tab ${tabName(tab)}`}
      at={at}
      onClose={onClose}
      items={[...closeItems(deps, group, tab), ...groupItems(deps, group, tab), ...fileItems(deps, group, tab)]}
    />
  );
}

const closeItems = (deps: Deps, { id: group, tabs }: EditorGroup, { id }: Tab): MenuItem[] => [
  { label: "Close", shortcut: "Alt+W", run: () => void deps.closeTab(group, id) },
  ...(tabs.length > 1 ? [{ label: "Close others", run: () => void deps.closeOtherTabs(group, id) }] : []),
  ...(tabs.at(-1)?.id !== id ? [{ label: "Close to the right", run: () => void deps.closeTabsToTheRight(group, id) }] : []),
  { label: "Close saved", run: () => void deps.closeSavedTabs(group) },
  { label: "Close all", run: () => void deps.closeAllTabs(group) },
];

// Moves by the mouse are drags; these items serve the keyboard and touch screens.
function groupItems({ layout }: Deps, group: EditorGroup, tab: Tab): MenuItem[] {
  const { groups } = layout.store.getState();
  const at = groups.findIndex(({ id }) => id === group.id);
  const from = { group: group.id, tab: tab.id };
  const [left, right] = [groups[at - 1], groups[at + 1]];
  const items: MenuItem[] = [];
  if (right || groups.length < MAX_GROUPS) items.push({ label: "Open to the side", run: () => layout.openBeside(tab), divided: true });
  if (left) items.push({ label: "Move to the left group", run: () => layout.moveTab(from, { group: left.id, at: "end" }) });
  if (right) items.push({ label: "Move to the right group", run: () => layout.moveTab(from, { group: right.id, at: "end" }) });
  return items;
}

function fileItems(deps: Deps, group: EditorGroup, tab: Tab): MenuItem[] {
  const { layout } = deps;
  const items: MenuItem[] = [];
  if (group.temporaryTab === tab.id) items.push({ label: "Keep open", run: () => layout.keepTab(tab.id) });
  if ("path" in tab)
    items.push({
      label: "Show in the file tree",
      run: () => {
        layout.showSideView("files");
        deps.revealInTree(tab.path);
      },
    });
  return items.map((item, index) => (index === 0 ? { ...item, divided: true } : item));
}
