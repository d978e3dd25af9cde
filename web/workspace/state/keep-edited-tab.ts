import type { Documents } from "./documents/documents.ts";
import type { Layout } from "./page/layout.ts";

// A file with unsaved text keeps its tab, whether the text was typed just now or restored from a draft.
export function keepEditedTab({ layout, documents }: { layout: Layout; documents: Documents }): void {
  documents.store.subscribe(() => {
    for (const { tabs, temporaryTab } of layout.store.getState().groups) {
      const tab = tabs.find(({ id }) => id === temporaryTab);
      if (tab?.kind === "file" && documents.documentAt(tab.path)?.edited) layout.keepTab(tab.id);
    }
  });
}
