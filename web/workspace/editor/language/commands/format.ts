import { getIndentUnit, indentUnit } from "@codemirror/language";
import { ChangeSet } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import type { Api } from "../../../connection/api.ts";
import { formatWithProgram } from "./format-program.ts";
import type { TextEdit } from "../protocol/messages.ts";
import { ask, offers } from "../protocol/request.ts";
import { offsetAt, smallestChange } from "../protocol/smallest-change.ts";

export interface FormatOptions {
  api: Api;
  view: EditorView;
  path: string;
  report: { info(text: string): void; error(text: string): void };
}

// Formats the text with the language server or, if that cannot, with a formatter that is installed in the sandbox.
// Reports the reason if that is not possible.
export async function formatDocument({ api, view, path, report }: FormatOptions): Promise<void> {
  const { doc } = view.state;
  const changes = offers(view, "documentFormattingProvider") ? await askServer(view) : await runProgram({ api, view, path, report });
  // Typing has continued meanwhile.
  if (changes === null || view.state.doc !== doc) return;
  if (!changes.empty) view.dispatch({ changes, userEvent: "format" });
}

async function askServer(view: EditorView): Promise<ChangeSet | null> {
  const { state } = view;
  const options = { tabSize: getIndentUnit(state), insertSpaces: !state.facet(indentUnit).includes("\t"), trimTrailingWhitespace: true };
  const edits = await ask<TextEdit[]>(view, "textDocument/formatting", { options });
  const changes = (edits ?? []).map(({ range: { start, end }, newText: insert }) => ({
    from: offsetAt(state.doc, start),
    to: offsetAt(state.doc, end),
    insert,
  }));
  return ChangeSet.of(changes, state.doc.length, "\n");
}

async function runProgram({ api, view, path, report }: FormatOptions): Promise<ChangeSet | null> {
  const { doc } = view.state;
  const result = await formatWithProgram(api, path, doc.toString());
  if (result.kind === "formatted")
    return ChangeSet.of(smallestChange(doc, view.state.toText(result.text.replace(/\r\n/g, "\n"))), doc.length);
  if (result.kind === "none") report.info(`No formatter is installed for this file. ${result.hint}`);
  else report.error(`Could not format ${path}: ${result.message}`);
  return null;
}
