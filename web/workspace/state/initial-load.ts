import { activeTabIn } from "./tabs/editor-group.ts";
import { openTabs } from "./tabs/editor-groups.ts";
import type { Page } from "./page.ts";
import { fileTab } from "./tabs/tab.ts";
import type { Files } from "./sandbox/files.ts";

// Reads the first visible data: the top folder and the file in each active tab. On a first visit that file is the README.
export async function loadInitialView(files: Files, { documents, layout }: Pick<Page, "documents" | "layout">): Promise<void> {
  const { groups, visited } = layout.store.getState();
  layout.set({ visited: true });
  for (const shown of groups.map(activeTabIn)) if (shown && "path" in shown) void documents.open(shown.path);
  await files.ensure("");
  if (visited || openTabs(layout.store.getState()).length > 0) return;
  const readme = files.store.getState().folders[""]?.find(({ name }) => /^readme(\.md|\.txt)?$/i.test(name));
  if (!readme) return;
  layout.openTab(fileTab(readme.name));
  void documents.open(readme.name);
}
