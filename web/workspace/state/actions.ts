import { isNarrowScreen } from "../browser/media-query.ts";
import { extensionOf, joinPath, nameError, nameOf, parentOf } from "../text/paths.ts";
import type { TextLocation } from "./page/cursor.ts";
import { fileTab, previewTab, tabFor } from "./page/layout.ts";
import type { Workspace } from "./workspace.ts";

// Actions of a person that touch several parts of the workspace.

export function openFile({ layout, documents, cursor }: Workspace, path: string, target?: TextLocation): void {
  if (target) cursor.reveal({ path, ...target });
  cursor.requestFocus(path);
  if (isNarrowScreen()) layout.set({ sideOpen: false, agentOpen: false });
  layout.openTab(fileTab(path));
  void documents.open(path);
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

export async function newFile(workspace: Workspace, folder: string): Promise<void> {
  const name = await askName(workspace, folder ? `New file in ${folder}` : "New file", "Create", "");
  if (name === null) return;
  const path = joinPath(folder, name);
  const created = await workspace.notices.attempt(`Could not create ${path}`, () => workspace.files.createFile(path));
  if (!created) return;
  workspace.layout.expandTo(path);
  openFile(workspace, path);
}

export async function newFolder(workspace: Workspace, folder: string): Promise<void> {
  const name = await askName(workspace, folder ? `New folder in ${folder}` : "New folder", "Create", "");
  if (name === null) return;
  const path = joinPath(folder, name);
  await workspace.notices.attempt(`Could not create ${path}`, () => workspace.files.createFolder(path));
  workspace.layout.expandTo(`${path}/`);
}

export async function movePath(workspace: Workspace, from: string, to: string): Promise<void> {
  if (from === to) return;
  await workspace.documents.flush(from);
  const moved = await workspace.notices.attempt(`Could not move ${from}`, () => workspace.files.move(from, to));
  if (!moved) return;
  workspace.documents.moved(from, to);
  workspace.layout.renamePath(from, to);
}

export async function renamePath(workspace: Workspace, path: string): Promise<void> {
  const name = await askName(workspace, `Rename ${nameOf(path)}`, "Rename", nameOf(path));
  if (name !== null) await movePath(workspace, path, joinPath(parentOf(path), name));
}

export async function deletePath(workspace: Workspace, { path, folder }: { path: string; folder: boolean }): Promise<void> {
  const what = folder ? `the folder ${path} and everything in it` : path;
  const text = `This deletes ${what}. You cannot undo this.`;
  if (!(await workspace.dialogs.confirm(`Delete ${nameOf(path)}?`, text, "Delete"))) return;
  await workspace.notices.attempt(`Could not delete ${path}`, () => workspace.files.remove(path));
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

async function askName(workspace: Workspace, title: string, label: string, value: string): Promise<string | null> {
  const answer = await workspace.dialogs.ask({
    title,
    input: { label: "Name", value, error: nameError },
    choices: [{ id: "ok", label, kind: "primary" }],
  });
  return answer?.value.trim() ?? null;
}
