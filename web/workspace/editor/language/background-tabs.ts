import { Text as DocumentText } from "@codemirror/state";
import { openTabs } from "../../state/tabs/editor-groups.ts";
import { clientFor } from "./clients.ts";
import { fileLanguage } from "./file-language.ts";
import { MAX_CHARS, type SupportDeps } from "./support.ts";
import type { Uses } from "../../actions/actions.ts";

const MAX_TABS = 50;

// Opens the files of tabs that no editor has shown yet, as after a reload, at their language servers, because their problems count too.
export async function openBackgroundTabs(deps: SupportDeps & Uses<"layout">): Promise<void> {
  const { mayEdit, documents, layout } = deps;
  if (!mayEdit) return;
  const paths = openTabs(layout.store.getState()).flatMap((tab) => (tab.kind === "file" ? tab.path : []));
  for (const path of paths.slice(0, MAX_TABS)) {
    const language = fileLanguage(path);
    if (language === null || documents.documentAt(path) !== null) continue;
    await documents.open(path);
    if (documents.documentAt(path) === null || documents.textOf(path).length > MAX_CHARS) continue;
    const client = await clientFor(deps, language.language);
    // It was closed meanwhile.
    if (documents.documentAt(path) === null) continue;
    client?.open(
      path,
      language,
      textReader(() => documents.textOf(path)),
    );
  }
}

// Splits a text into lines only when it has changed.
function textReader(read: () => string): () => DocumentText {
  let last = "";
  let lines = DocumentText.empty;
  return () => {
    const now = read();
    if (now !== last) [last, lines] = [now, DocumentText.of(now.split(/\r\n?|\n/))];
    return lines;
  };
}
