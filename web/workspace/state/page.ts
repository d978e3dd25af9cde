import type { Api } from "../connection/api.ts";
import { createDocuments } from "./documents/documents.ts";
import { noDrafts, openDrafts } from "./documents/drafts.ts";
import { createDialogs } from "./page/dialogs.ts";
import { createEmbedding } from "./page/embedding.ts";
import { createFileHistory } from "./page/file-history.ts";
import { createFocusRequest } from "./page/focus-request.ts";
import { createLayout } from "./page/layout.ts";
import { createNotices } from "./page/notices.ts";
import { createPalette } from "./page/palette.ts";
import { createPicker } from "./page/picker.ts";
import { createPreferences } from "./page/preferences.ts";
import { createTransfers } from "./page/transfers.ts";
import { createTree } from "./page/tree.ts";
import { createReplacements } from "./replace/replacements.ts";
import type { Session } from "./session.ts";
import { createActiveEditor } from "./tabs/active-editor.ts";
import { createCursor } from "./tabs/cursor.ts";
import type { Places } from "./tabs/places.ts";
import { createTabDrag } from "./tabs/tab-drag.ts";

export type Page = ReturnType<typeof createPage>;

// The state that belongs to this browser: layout, settings, open files with their unsaved texts, dialogs.
export function createPage(sandboxId: string, api: Api, { mayEdit, settingsOwner }: Pick<Session, "mayEdit" | "settingsOwner">) {
  const notices = createNotices();
  const preferences = createPreferences(settingsOwner);
  return {
    notices,
    preferences,
    documents: createDocuments({
      api,
      notices,
      drafts: mayEdit ? openDrafts(sandboxId) : noDrafts,
      autosave: () => mayEdit && preferences.store.getState().autosave,
      autosaveAfterMs: () => preferences.store.getState().autosaveDelayMs,
    }),
    dialogs: createDialogs(),
    embedding: createEmbedding(),
    layout: createLayout(sandboxId),
    replacements: createReplacements(),
    palette: createPalette(),
    picker: createPicker(),
    cursor: createCursor(),
    activeEditor: createActiveEditor(),
    // The places in files that the person has been at. The rules are in places.ts, which loads with the commands.
    places: { all: [], at: -1 } as Places,
    focusRequest: createFocusRequest(),
    tree: createTree(),
    tabDrag: createTabDrag(),
    fileHistory: createFileHistory(),
    transfers: createTransfers(),
  };
}
