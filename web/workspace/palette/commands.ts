import type { SideView } from "../state/page/layout.ts";
import type { Workspace } from "../state/workspace.ts";
import { closeTab, newFile, newFolder, openPreviewOfActive } from "../state/actions.ts";

export interface Command {
  id: string;
  title: string;
  // Written as on a PC; "Mod" is the Command key on a Mac.
  keys?: string;
  // A key that works while a terminal has the focus; all others belong to the shell then.
  inTerminal?: boolean;
  run: () => void;
}

// Everything that can be done by name, in the order the palette shows it.
export function createCommands(workspace: Workspace): Command[] {
  const { layout, documents, terminals, palette, preferences } = workspace;
  const activeFile = () => {
    const { tabs, activeTab } = layout.store.getState();
    const tab = tabs.find(({ id }) => id === activeTab);
    return tab && "path" in tab ? tab.path : null;
  };
  const side = (view: SideView) => () => layout.showSide(view);
  const theme = (to: "system" | "light" | "dark") => () => preferences.set({ theme: to });
  return [
    { id: "files.open", title: "Go to file…", keys: "Mod+P", run: () => palette.open("files") },
    { id: "palette", title: "Show all commands", keys: "Mod+Shift+P", inTerminal: true, run: () => palette.open("commands") },
    { id: "palette.f1", title: "", keys: "F1", inTerminal: true, run: () => palette.open("commands") },
    { id: "file.save", title: "Save", keys: "Mod+S", run: () => void (activeFile() && documents.save(activeFile() ?? "")) },
    { id: "file.saveAll", title: "Save all", keys: "Mod+Alt+S", run: () => void documents.saveAll() },
    { id: "file.new", title: "New file…", run: () => void newFile(workspace, "") },
    { id: "folder.new", title: "New folder…", run: () => void newFolder(workspace, "") },
    { id: "tab.close", title: "Close tab", keys: "Alt+W", run: () => void closeTab(workspace, layout.store.getState().activeTab) },
    { id: "tab.next", title: "Next tab", keys: "Alt+PageDown", run: () => layout.stepTab(1) },
    { id: "tab.previous", title: "Previous tab", keys: "Alt+PageUp", run: () => layout.stepTab(-1) },
    { id: "markdown.preview", title: "Open preview of this Markdown file", keys: "Mod+Shift+V", run: () => openPreviewOfActive(workspace) },
    { id: "view.files", title: "Show files", keys: "Mod+Shift+E", run: side("files") },
    { id: "view.search", title: "Search in files", keys: "Mod+Shift+F", run: () => layout.revealSide("search") },
    { id: "view.changes", title: "Show changes", keys: "Mod+Shift+G", run: side("changes") },
    { id: "view.ports", title: "Show ports", run: side("ports") },
    { id: "view.agent", title: "Show or hide the agent", keys: "Mod+Alt+A", inTerminal: true, run: () => layout.toggle("agentOpen") },
    { id: "view.side", title: "Show or hide the side panel", keys: "Mod+B", run: () => layout.toggle("sideOpen") },
    { id: "view.terminals", title: "Show or hide the terminals", keys: "Mod+J", run: () => terminals.toggle() },
    { id: "view.terminals.tick", title: "", keys: "Ctrl+`", inTerminal: true, run: () => terminals.toggle() },
    { id: "terminal.new", title: "New terminal", keys: "Ctrl+Shift+`", inTerminal: true, run: () => void terminals.create() },
    { id: "terminal.split", title: "Split terminal", keys: "Mod+Shift+5", inTerminal: true, run: () => void terminals.split() },
    { id: "autosave", title: "Turn autosave on or off", run: () => preferences.set(({ autosave }) => ({ autosave: !autosave })) },
    {
      id: "wrap",
      title: "Wrap long lines or not",
      keys: "Alt+Z",
      run: () => preferences.set(({ wrapLines }) => ({ wrapLines: !wrapLines })),
    },
    {
      id: "spoken",
      title: "Screen reader support in terminals, on or off",
      run: () => preferences.set((now) => ({ spokenTerminals: !now.spokenTerminals })),
    },
    { id: "theme.system", title: "Colours: follow the system", run: theme("system") },
    { id: "theme.light", title: "Colours: light", run: theme("light") },
    { id: "theme.dark", title: "Colours: dark", run: theme("dark") },
    { id: "download", title: "Download the workspace as a zip file", run: () => location.assign(workspace.api.archiveUrl("")) },
  ];
}
