import { toggleTerminals } from "../../state/actions/focus-actions.ts";
import { focusAgent, focusReplace, focusSearch, focusSideView, focusTerminals } from "../../state/actions/move-actions.ts";
import { loadModule } from "../../browser/load-module.ts";
import type { SideView } from "../../state/page/layout.ts";
import type { Workspace } from "../../state/workspace.ts";
import { openMarkdownPreview, openPage } from "../../state/actions/open-actions.ts";
import { saveFile } from "../../state/actions/save-file.ts";
import { activeTabOf } from "../../state/tabs/editor-groups.ts";
import { isAgentHidden } from "../../state/sandbox/session.ts";
import type { Command } from "./command.ts";
import { gitCommands } from "./git-commands.ts";
import { tabCommands } from "./tab-commands.ts";
import { chooseUpload } from "../../files/uploads.ts";
import { revealInTree, startNew, targetFolder } from "../../state/actions/file-actions.ts";
import { createLanguageCommands } from "./language-commands.ts";
import { createEditorCommands } from "./editor-commands.ts";
import { isViewerCommand } from "./viewer-commands.ts";

// All commands, in the order of the palette. A command without a title is only a second shortcut.
export function createCommands(workspace: Workspace): Command[] {
  const { mayEdit, layout, documents, terminals, palette, preferences, activeEditor, session } = workspace;
  const hasEditor = () => activeEditor.current() !== null;
  const activeFile = () => {
    const tab = activeTabOf(layout.store.getState());
    return tab && "path" in tab ? tab.path : null;
  };
  const reveal = () => {
    const path = activeFile();
    layout.showSideView("files");
    if (path !== null) revealInTree(workspace, path);
  };
  const clone = async () => (await loadModule(() => import("../../state/actions/clone-action.ts"))).cloneRepository(workspace);
  const downloadAll = async () => (await loadModule(() => import("../../state/actions/download-action.ts"))).downloadFolder(workspace, "");
  const upload = (kind: "files" | "folder") => () => chooseUpload(workspace, kind, targetFolder(workspace));
  const side = (view: SideView) => () => focusSideView(workspace, view);
  const theme = (to: "system" | "light" | "dark") => () => preferences.set({ theme: to });
  const all: Command[] = [
    { id: "files.open", title: "Go to file…", shortcut: "Mod+P", inTerminal: true, run: () => palette.open("files") },
    { id: "palette", title: "Show all commands", shortcut: "Mod+Shift+P", run: () => palette.open("commands") },
    { id: "palette.f1", title: "", shortcut: "F1", inTerminal: true, run: () => palette.open("commands") },
    { id: "line.open", title: "Go to line…", shortcut: "Ctrl+G", isAvailable: hasEditor, run: () => palette.open("line") },
    { id: "symbols.open", title: "Go to symbol…", shortcut: "Mod+Shift+O", isAvailable: hasEditor, run: () => palette.open("symbols") },
    { id: "file.save", title: "Save", shortcut: "Mod+S", run: () => void (activeFile() && saveFile(workspace, activeFile() ?? "")) },
    { id: "file.saveAll", title: "Save all", shortcut: "Mod+Alt+S", run: () => void documents.saveAll() },
    { id: "file.new", title: "New file…", run: () => void startNew(workspace, "file") },
    { id: "folder.new", title: "New folder…", run: () => void startNew(workspace, "folder") },
    { id: "file.upload", title: "Upload files…", run: upload("files") },
    { id: "folder.upload", title: "Upload a folder…", run: upload("folder") },
    { id: "tree.refresh", title: "Refresh files", run: () => void workspace.files.reloadAll() },
    { id: "tree.collapse", title: "Collapse all folders", run: () => layout.set({ expanded: [] }) },
    { id: "git.clone", title: "Clone repository…", run: () => void clone() },
    { id: "file.reveal", title: "Show the active file in the tree", run: reveal },
    ...tabCommands(workspace),
    { id: "markdown.preview", title: "Preview this Markdown file", shortcut: "Mod+Shift+V", run: () => openMarkdownPreview(workspace) },
    { id: "view.files", title: "Show files", shortcut: "Mod+Shift+E", run: side("files") },
    { id: "view.search", title: "Search in files", shortcut: "Mod+Shift+F", run: () => focusSearch(workspace) },
    { id: "search.replace", title: "Replace in files", shortcut: "Mod+Shift+H", run: () => focusReplace(workspace) },
    {
      id: "search.undo",
      title: "Undo replace in files",
      isAvailable: () => workspace.replacements.store.getState().changes.length > 0,
      run: () => void loadModule(() => import("../../state/actions/replace-actions.ts")).then((actions) => actions.undoReplace(workspace)),
    },
    { id: "view.changes", title: "Show changes", shortcut: "Mod+Shift+G", run: side("changes") },
    ...gitCommands(workspace),
    { id: "view.problems", title: "Show problems", shortcut: "Mod+Shift+M", run: side("problems") },
    { id: "view.ports", title: "Show ports", run: side("ports") },
    ...(isAgentHidden(session.store.getState())
      ? []
      : [{ id: "view.agent", title: "Toggle agent", shortcut: "Mod+Alt+A", inTerminal: true, run: () => focusAgent(workspace) }]),
    { id: "view.side", title: "Toggle side panel", shortcut: "Mod+B", run: () => layout.toggle("sideOpen") },
    { id: "view.terminals", title: "Toggle terminals", shortcut: "Mod+J", inTerminal: true, run: () => toggleTerminals(workspace) },
    { id: "view.terminals.tick", title: "", shortcut: "Ctrl+`", inTerminal: true, run: () => focusTerminals(workspace) },
    { id: "terminal.new", title: "New terminal", shortcut: "Ctrl+Shift+`", run: () => void terminals.create() },
    { id: "terminal.split", title: "Split terminal", shortcut: "Mod+Shift+5", run: () => void terminals.split() },
    {
      id: "terminal.find",
      title: "Find in terminal",
      run: () => {
        terminals.open();
        terminals.request("find");
      },
    },
    { id: "terminal.clear", title: "Clear terminal", run: () => terminals.request("clear") },
    {
      id: "terminal.close",
      title: "Close terminal",
      run: () => {
        const { activeTerminal } = layout.store.getState();
        if (activeTerminal !== null) terminals.closePane(activeTerminal);
      },
    },
    ...createEditorCommands(workspace),
    ...createLanguageCommands(workspace),
    { id: "autosave", title: "Toggle autosave", run: () => preferences.set(({ autosave }) => ({ autosave: !autosave })) },
    {
      id: "wrap",
      title: "Toggle line wrapping",
      shortcut: "Alt+Z",
      run: () => preferences.set(({ wrapLines }) => ({ wrapLines: !wrapLines })),
    },
    {
      id: "spoken",
      title: "Toggle screen reader support in terminals",
      run: () => preferences.set((now) => ({ spokenTerminals: !now.spokenTerminals })),
    },
    { id: "settings", title: "Open settings", shortcut: "Mod+,", run: () => openPage(workspace, "settings") },
    { id: "settings.json", title: "Open settings (JSON)", run: () => openPage(workspace, "settingsJson") },
    { id: "shortcuts", title: "Keyboard shortcuts", run: () => openPage(workspace, "shortcuts") },
    {
      id: "keymap.vim",
      title: "Toggle Vim keys",
      run: () => preferences.set(({ keymap }) => ({ keymap: keymap === "vim" ? "vscode" : "vim" })),
    },
    { id: "theme.system", title: "Theme: system", run: theme("system") },
    { id: "theme.light", title: "Theme: light", run: theme("light") },
    { id: "theme.dark", title: "Theme: dark", run: theme("dark") },
    { id: "download", title: "Download workspace as zip", run: () => void downloadAll() },
  ];
  return mayEdit ? all : all.filter(isViewerCommand);
}
