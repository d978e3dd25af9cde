import type { Documents } from "./documents/documents.ts";
import { fileTab, type Layout } from "./page/layout.ts";
import type { Files } from "./sandbox/files.ts";

// Reads what the page shows first: the top folder and the file in the active tab. On a first visit that file is the README.
export async function loadInitialView({ files, layout, documents }: { files: Files; layout: Layout; documents: Documents }): Promise<void> {
  const { tabs, activeTab, visited } = layout.store.getState();
  layout.set({ visited: true });
  const active = tabs.find(({ id }) => id === activeTab);
  if (active && "path" in active) void documents.open(active.path);
  await files.ensure("");
  if (visited || layout.store.getState().tabs.length > 0) return;
  const readme = files.store.getState().folders[""]?.find(({ name }) => /^readme(\.md|\.txt)?$/i.test(name));
  if (!readme) return;
  layout.openTab(fileTab(readme.name));
  void documents.open(readme.name);
}
