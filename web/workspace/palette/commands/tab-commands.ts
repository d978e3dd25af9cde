import { splitEditor } from "../../state/actions/focus-actions.ts";
import { focusGroup, goBy } from "../../state/actions/move-actions.ts";
import { shortcutFor } from "../../browser/shortcuts.ts";
import { MAX_GROUPS } from "../../state/tabs/editor-groups.ts";
import { closeActiveTab, closeAllTabs, closeOtherActiveTabs } from "../../state/actions/tab-actions.ts";
import type { Workspace } from "../../state/workspace.ts";
import type { Command } from "./command.ts";

// Browsers keep Ctrl+PageUp, Ctrl+PageDown and Ctrl+Shift+T for their own tabs. They reach the page only if the workspace is
// installed as an app, so each has a second shortcut.
export function tabCommands(workspace: Workspace): Command[] {
  const { layout } = workspace;
  return [
    { id: "tab.close", title: "Close tab", shortcut: "Alt+W", run: () => void closeActiveTab(workspace) },
    { id: "tab.closeOthers", title: "Close other tabs", run: () => void closeOtherActiveTabs(workspace) },
    {
      id: "tab.closeAll",
      title: "Close all tabs of the group",
      run: () => void closeAllTabs(workspace, layout.store.getState().activeGroup),
    },
    { id: "tab.reopen", title: "Reopen closed tab", shortcut: "Alt+Shift+T", run: layout.reopenTab },
    { id: "tab.reopen.app", title: "", shortcut: "Mod+Shift+T", run: layout.reopenTab },
    { id: "tab.next", title: "Next tab", shortcut: "Alt+PageDown", inTerminal: true, run: () => layout.cycleTab(1) },
    { id: "tab.next.app", title: "", shortcut: "Ctrl+PageDown", inTerminal: true, run: () => layout.cycleTab(1) },
    { id: "tab.previous", title: "Previous tab", shortcut: "Alt+PageUp", inTerminal: true, run: () => layout.cycleTab(-1) },
    { id: "tab.previous.app", title: "", shortcut: "Ctrl+PageUp", inTerminal: true, run: () => layout.cycleTab(-1) },
    { id: "tab.left", title: "Move tab left", shortcut: "Ctrl+Shift+PageUp", run: () => layout.shiftTab(-1) },
    { id: "tab.right", title: "Move tab right", shortcut: "Ctrl+Shift+PageDown", run: () => layout.shiftTab(1) },
    { id: "tab.back", title: "Go back", shortcut: shortcutFor("Alt+ArrowLeft", "Ctrl+-"), run: () => goBy(workspace, -1) },
    { id: "tab.forward", title: "Go forward", shortcut: shortcutFor("Alt+ArrowRight", "Ctrl+Shift+-"), run: () => goBy(workspace, 1) },
    { id: "group.split", title: "Split editor", shortcut: "Mod+\\", run: () => splitEditor(workspace) },
    { id: "group.moveTab", title: "Move tab to the next editor group", shortcut: "Ctrl+Alt+ArrowRight", run: layout.moveTabToNextGroup },
    ...Array.from({ length: MAX_GROUPS }, (_value, index): Command => ({
      id: `group.focus.${index + 1}`,
      title: `Go to editor group ${index + 1}`,
      shortcut: `Mod+${index + 1}`,
      inTerminal: true,
      run: () => focusGroup(workspace, index),
    })),
  ];
}
