import { StateEffect, Text as DocumentText } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { formatAge } from "../../text/age.ts";
import { decodeText } from "../../text/encoding.ts";
import { blameNote, connectBlame } from "./blame.ts";
import { mergeConflicts } from "../conflicts/extension.ts";
import { connectStaging } from "./change-commands.ts";
import { changeGutter } from "./change-gutter.ts";
import { lineChanges, setOriginal } from "./line-changes.ts";
import type { Uses } from "../../actions/actions.ts";

// Larger texts are not compared, because that would make typing slow.
const MAX_CHARS = 1_000_000;

// Marks the changes of a file in its editor, as long as the editor is shown. The text is compared with the staged one.
export function attachGit(deps: Uses<"documents" | "git" | "notices" | "preferences">, view: EditorView, path: string): Disposable {
  const { git, documents, notices, preferences } = deps;
  if (view.state.doc.length > MAX_CHARS) return { [Symbol.dispose]() {} };
  if (view.state.field(lineChanges, false) === undefined)
    view.dispatch({ effects: StateEffect.appendConfig.of([changeGutter, blameNote, mergeConflicts]) });

  let disposed = false;
  let reads = 0;
  // The staged content that the text is compared with. Without an id there is none.
  let staged: { id: string; lineBreak: string; isUtf8: boolean } | null = null;

  function mayBeStaged(): boolean {
    const { repositories, marks } = git.store.getState();
    return repositories.length > 0 && marks.get(path) !== "untracked";
  }

  async function compare(): Promise<void> {
    const read = ++reads;
    const found = mayBeStaged() ? await git.content(path, "index").catch(() => undefined) : null;
    // After a failure, the marks stay as they are.
    if (disposed || read !== reads || found === undefined || (found?.id ?? "") === staged?.id) return;
    const decoded = found === null ? null : decodeText(found.bytes);
    staged = { id: found?.id ?? "", lineBreak: decoded?.text.includes("\r\n") ? "\r\n" : "\n", isUtf8: decoded?.encoding === "utf-8" };
    const separator = view.state.lineBreak === "\r\n" ? /\r?\n/ : "\n";
    view.dispatch({ effects: setOriginal.of(decoded === null ? null : DocumentText.of(decoded.text.split(separator))) });
  }

  connectStaging(view, {
    async stage(text) {
      if (staged === null) return;
      const { id, lineBreak, isUtf8 } = staged;
      if (!isUtf8) return notices.info("Only files in UTF-8 can be staged in parts.");
      await notices.attempt(`Could not stage the change in ${path}`, () =>
        git.stageContent(path, text.sliceString(0, text.length, lineBreak), id),
      );
    },
  });
  const blame = connectBlame(view, async (line, signal) => {
    // Git reads the file on disk, whose lines may differ from unsaved text.
    const isSaved = documents.documentAt(path)?.edited === false;
    if (!preferences.store.getState().blame || !isSaved || git.store.getState().repository === null) return null;
    const commit = await git.blame(path, line, signal);
    return commit === null ? "Not committed yet" : `${commit.author}, ${formatAge(Date.now() - commit.atMs)} · ${shorten(commit.subject)}`;
  });
  const unsubscribe = [
    git.store.subscribe((now, before) => {
      if (now.version === before.version) return;
      void compare();
      blame.update();
    }),
    preferences.store.subscribe((now, before) => now.blame !== before.blame && blame.update()),
  ];
  void compare();
  blame.update();
  return {
    [Symbol.dispose]() {
      disposed = true;
      blame[Symbol.dispose]();
      for (const end of unsubscribe) end();
    },
  };
}

const MAX_SUBJECT = 72;
const shorten = (text: string) => (text.length > MAX_SUBJECT ? `${text.slice(0, MAX_SUBJECT)}…` : text);
