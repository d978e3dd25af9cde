import type { MoveActions } from "../../actions/move-actions.ts";
import { shortcutFor } from "../../browser/shortcuts.ts";
import { activeGroupOf, activeTabOf, MAX_GROUPS } from "../../state/tabs/editor-groups.ts";
import type { Uses } from "../../actions/actions.ts";
import type { Command } from "./command.ts";

type Deps = Uses<"closeActiveTab" | "closeAllTabs" | "closeOtherTabs" | "layout" | "splitEditor"> &
  Pick<MoveActions, "focusGroup" | "goBy">;

// Browsers keep Ctrl+PageUp, Ctrl+PageDown and Ctrl+Shift+T for their own tabs. They reach the page only if the workspace is
// installed as an app, so each has a second shortcut.
export function tabCommands(deps: Deps): Command[] {
  const { layout } = deps;
  const closeOthers = () => {
    const state = layout.store.getState();
    const tab = activeTabOf(state);
    if (tab) void deps.closeOtherTabs(activeGroupOf(state).id, tab.id);
  };
  return [
    { id: "tab.close", title: "Close tab", shortcut: "Alt+W", run: () => void deps.closeActiveTab() },
    { id: "tab.closeOthers", title: "Close other tabs", run: closeOthers },
    {
      id: "tab.closeAll",
      title: "Close all tabs of the group",
      run: () => void deps.closeAllTabs(layout.store.getState().activeGroup),
    },
    { id: "tab.reopen", title: "Reopen closed tab", shortcut: "Alt+Shift+T", run: layout.reopenTab },
    { id: "tab.reopen.app", title: "", shortcut: "Mod+Shift+T", run: layout.reopenTab },
    { id: "tab.next", title: "Next tab", shortcut: "Alt+PageDown", inTerminal: true, run: () => layout.cycleTab(1) },
    { id: "tab.next.app", title: "", shortcut: "Ctrl+PageDown", inTerminal: true, run: () => layout.cycleTab(1) },
    { id: "tab.previous", title: "Previous tab", shortcut: "Alt+PageUp", inTerminal: true, run: () => layout.cycleTab(-1) },
    { id: "tab.previous.app", title: "", shortcut: "Ctrl+PageUp", inTerminal: true, run: () => layout.cycleTab(-1) },
    { id: "tab.left", title: "Move tab left", shortcut: "Ctrl+Shift+PageUp", run: () => layout.shiftTab(-1) },
    { id: "tab.right", title: "Move tab right", shortcut: "Ctrl+Shift+PageDown", run: () => layout.shiftTab(1) },
    { id: "tab.back", title: "Go back", shortcut: shortcutFor("Alt+ArrowLeft", "Ctrl+-"), run: () => deps.goBy(-1) },
    { id: "tab.forward", title: "Go forward", shortcut: shortcutFor("Alt+ArrowRight", "Ctrl+Shift+-"), run: () => deps.goBy(1) },
    { id: "group.split", title: "Split editor", shortcut: "Mod+\\", run: deps.splitEditor },
    { id: "group.moveTab", title: "Move tab to the next editor group", shortcut: "Ctrl+Alt+ArrowRight", run: layout.moveTabToNextGroup },
    ...Array.from({ length: MAX_GROUPS }, (_value, index): Command => ({
      id: `group.focus.${index + 1}`,
      title: `Go to editor group ${index + 1}`,
      shortcut: `Mod+${index + 1}`,
      inTerminal: true,
      run: () => deps.focusGroup(index),
    })),
  ];
}
