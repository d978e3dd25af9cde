import { isNarrowScreen } from "../browser/media-query.ts";
import { extensionOf, nameOf } from "../text/paths.ts";
import type { TextLocation } from "./page/cursor.ts";
import { fileTab, previewTab, tabFor } from "./page/layout.ts";
import type { Workspace } from "./workspace.ts";

// Actions of a person that touch several parts of the workspace.

// Opens a file to work on it: its tab stays, and its editor takes the keyboard focus.
export function openFile(workspace: Workspace, path: string, target?: TextLocation): void {
  const { layout, documents, cursor } = workspace;
  if (target) cursor.reveal({ path, ...target });
  cursor.requestFocus(path);
  uncoverEditor(workspace);
  layout.openTab(fileTab(path));
  void documents.open(path);
}

// Shows a file in the temporary tab and leaves the keyboard focus where it is.
export function showFile(workspace: Workspace, path: string): void {
  const { layout, documents } = workspace;
  const { tabs, temporaryTab } = layout.store.getState();
  const replaced = tabs.find(({ id }) => id === temporaryTab);
  uncoverEditor(workspace);
  layout.openTemporaryTab(fileTab(path));
  void documents.open(path);
  if (replaced?.kind !== "file") return;
  const isShown = layout.store.getState().tabs.some((tab) => "path" in tab && tab.path === replaced.path);
  if (!isShown) documents.release(replaced.path);
}

function uncoverEditor({ layout }: Workspace): void {
  if (isNarrowScreen()) layout.set({ sideOpen: false, agentOpen: false });
}

export async function closeTab(workspace: Workspace, id: string | null): Promise<void> {
  const { layout, documents, dialogs } = workspace;
  const tab = layout.store.getState().tabs.find((candidate) => candidate.id === id);
  if (!tab) return;
  if (tab.kind === "file" && documents.documentAt(tab.path)?.edited) {
    const answer = await dialogs.ask({
      title: `Save changes to ${nameOf(tab.path)}?`,
      text: "If you don't save, your changes to this file are lost.",
      choices: [
        { id: "discard", label: "Don't save", kind: "danger" },
        { id: "save", label: "Save", kind: "primary" },
      ],
    });
    if (answer === null) return;
    if (answer.choice === "save" && !(await documents.save(tab.path))) return;
  }
  layout.closeTab(tab.id);
  if (tab.kind === "file") documents.close(tab.path);
}

// Without a path, a preview that is open stays where it is.
export function openPreview({ layout, ports }: Workspace, port: number, path?: string): void {
  if (path !== undefined) ports.requestPreview(port, path);
  if (isNarrowScreen()) layout.set({ sideOpen: false, agentOpen: false });
  layout.openTab(previewTab(port));
}

export function openMarkdownPreview({ layout }: Workspace): void {
  const { tabs, activeTab } = layout.store.getState();
  const tab = tabs.find(({ id }) => id === activeTab);
  if (tab?.kind === "file" && isMarkdown(tab.path)) layout.openTab(tabFor("markdown", tab.path));
}

export const isMarkdown = (path: string): boolean => ["md", "markdown"].includes(extensionOf(path));
