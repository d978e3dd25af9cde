import { createMoveActions } from "../../actions/move-actions.ts";
import { loadModule } from "../../browser/load-module.ts";
import type { SideView } from "../../state/page/layout.ts";
import type { Page } from "../../state/page.ts";
import type { Sandbox } from "../../state/sandbox.ts";
import type { Session } from "../../state/session.ts";
import type { Actions } from "../../actions/actions.ts";
import { saveFile } from "../../actions/save-file.ts";
import { activeTabOf } from "../../state/tabs/editor-groups.ts";
import { isAgentHidden } from "../../state/session/session-store.ts";
import type { Command } from "./command.ts";
import { desktopCommands } from "./desktop-commands.ts";
import { gitCommands } from "./git-commands.ts";
import { paletteCommands } from "./palette-commands.ts";
import { tabCommands } from "./tab-commands.ts";
import { chooseUpload } from "../../files/uploads.ts";
import { createEditorCommands, createLanguageCommands } from "./editor-commands.ts";

// All commands, in the order of the palette. A command without a title is only a second shortcut.
export function createCommands(page: Page, sandbox: Sandbox, session: Session, actions: Actions): Command[] {
  const { documents, layout, preferences } = page;
  const { terminals } = sandbox;
  const move = createMoveActions({ ...page, ...sandbox, ...actions });
  const deps = { ...page, ...sandbox, ...session, ...actions, ...move };
  const activeFile = () => {
    const tab = activeTabOf(layout.store.getState());
    return tab && "path" in tab ? tab.path : null;
  };
  const reveal = () => {
    const path = activeFile();
    layout.showSideView("files");
    if (path !== null) actions.revealInTree(path);
  };
  const clone = async () => (await loadModule(() => import("../../actions/clone-action.ts"))).cloneRepository(deps);
  const downloadAll = async () => (await loadModule(() => import("../../actions/download-action.ts"))).downloadFolder(deps, "");
  const upload = (kind: "files" | "folder") => () => chooseUpload(deps, kind, actions.targetFolder());
  const side = (view: SideView) => () => move.focusSideView(view);
  const theme = (to: "system" | "light" | "dark") => () => preferences.set({ theme: to });
  const all: Command[] = [
    ...paletteCommands(page),
    { id: "file.save", title: "Save", shortcut: "Mod+S", run: () => void (activeFile() && saveFile(deps, activeFile() ?? "")) },
    { id: "file.saveAll", title: "Save all", shortcut: "Mod+Alt+S", run: () => void documents.saveAll() },
    { id: "file.new", title: "New file…", run: () => void actions.startNew("file") },
    { id: "folder.new", title: "New folder…", run: () => void actions.startNew("folder") },
    { id: "file.upload", title: "Upload files…", run: upload("files") },
    { id: "folder.upload", title: "Upload a folder…", run: upload("folder") },
    { id: "tree.refresh", title: "Refresh files", run: () => void sandbox.files.reloadAll() },
    { id: "tree.collapse", title: "Collapse all folders", run: () => layout.set({ expanded: [] }) },
    { id: "git.clone", title: "Clone repository…", run: () => void clone() },
    { id: "file.reveal", title: "Show the active file in the tree", run: reveal },
    ...tabCommands(deps),
    { id: "markdown.preview", title: "Preview this Markdown file", shortcut: "Mod+Shift+V", run: actions.openMarkdownPreview },
    { id: "view.files", title: "Show files", shortcut: "Mod+Shift+E", run: side("files") },
    { id: "view.search", title: "Search in files", shortcut: "Mod+Shift+F", run: move.focusSearch },
    { id: "search.replace", title: "Replace in files", shortcut: "Mod+Shift+H", run: move.focusReplace },
    {
      id: "search.undo",
      title: "Undo replace in files",
      isAvailable: () => page.replacements.store.getState().changes.length > 0,
      run: () => void loadModule(() => import("../../actions/replace-actions.ts")).then(({ undoReplace }) => undoReplace(deps)),
    },
    { id: "view.changes", title: "Show changes", shortcut: "Mod+Shift+G", run: side("changes") },
    ...gitCommands(deps),
    { id: "view.problems", title: "Show problems", shortcut: "Mod+Shift+M", run: side("problems") },
    { id: "view.ports", title: "Show ports", run: side("ports") },
    { id: "view.programs", title: "Show programs and processes", run: side("programs") },
    ...(isAgentHidden(session.store.getState())
      ? []
      : [{ id: "view.agent", title: "Toggle agent", shortcut: "Mod+Alt+A", inTerminal: true, run: move.focusAgent }]),
    ...desktopCommands(deps),
    { id: "view.side", title: "Toggle side panel", shortcut: "Mod+B", run: () => layout.toggle("sideOpen") },
    { id: "view.terminals", title: "Toggle terminals", shortcut: "Mod+J", inTerminal: true, run: actions.toggleTerminals },
    { id: "view.terminals.tick", title: "", shortcut: "Ctrl+`", inTerminal: true, run: move.focusTerminals },
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
    ...createEditorCommands(deps),
    ...createLanguageCommands(deps),
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
    { id: "settings", title: "Open settings", shortcut: "Mod+,", run: () => actions.openPage("settings") },
    { id: "settings.json", title: "Open settings (JSON)", run: () => actions.openPage("settingsJson") },
    { id: "shortcuts", title: "Keyboard shortcuts", run: () => actions.openPage("shortcuts") },
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
  return session.mayEdit ? all : all.filter(isViewerCommand);
}

// The commands of a viewer, who changes nothing. A new command is not among them until it is listed here.
const VIEWER_COMMANDS = new Set(
  [
    "files.open tree.refresh tree.collapse palette palette.f1 line.open symbols.open file.reveal markdown.preview download wrap spoken settings shortcuts keymap.vim",
    "view.files view.search view.changes view.problems view.ports view.programs view.agent view.side view.terminals view.terminals.tick terminal.find git.history git.blame",
    "settings.json theme.system theme.light theme.dark editor.find editor.findNext editor.findPrevious editor.selectNextOccurrence",
    "editor.selectAllOccurrences editor.addCursorAbove editor.addCursorBelow editor.selectLine editor.expandSelection editor.undoSelection",
    "editor.matchingBracket editor.fold editor.unfold editor.foldAll editor.unfoldAll editor.nextChange editor.previousChange editor.nextConflict",
  ].flatMap((ids) => ids.split(" ")),
);

const isViewerCommand = ({ id }: Command): boolean => /^(tab|group)\./.test(id) || VIEWER_COMMANDS.has(id);
