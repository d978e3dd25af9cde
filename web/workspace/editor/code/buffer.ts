import { LanguageDescription } from "@codemirror/language";
import { languages } from "@codemirror/language-data";
import { Annotation, EditorState, type Text as DocumentText, type TransactionSpec } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { nameOf } from "../../text/paths.ts";
import type { Workspace } from "../../state/workspace.ts";
import type { EditorBuffer } from "../../state/documents/open-files.ts";
import { configuredIndentation, indentation } from "../indentation/extension.ts";
import { editorSetup, label, labelFor, language, MAX_HIGHLIGHTED_CHARS } from "./setup.ts";

// A text with its history and selection. It outlives the view, which exists only while the tab is shown.
export interface CodeBuffer extends EditorBuffer {
  language: string | null;
  mount(container: HTMLElement): Disposable & { view: EditorView };
}

// Marks a change that came from the disk.
const fromDisk = Annotation.define<boolean>();
const codeBuffers = new WeakMap<EditorBuffer, CodeBuffer>();

export function bufferFor(workspace: Workspace, path: string): CodeBuffer {
  const attached = workspace.documents.bufferOf(path);
  return (attached && codeBuffers.get(attached)) ?? createBuffer(workspace, path);
}

function createBuffer(workspace: Workspace, firstPath: string): CodeBuffer {
  const { documents, cursor, preferences } = workspace;
  let path = firstPath;
  const text = documents.textOf(path);
  const { wrapLines } = preferences.store.getState();
  let view: EditorView | null = null;
  let scrollPosition: ReturnType<EditorView["scrollSnapshot"]> | null = null;

  const listener = EditorView.updateListener.of((update) => {
    state = update.state;
    if (update.docChanged && !update.transactions.some((transaction) => transaction.annotation(fromDisk)))
      documents.edited(path, { differs: saved === null || !state.doc.eq(saved) });
    if (update.docChanged || update.selectionSet) cursor.setPosition(formatPosition(state), selectedText(state));
  });
  let state = EditorState.create({ doc: text, extensions: [editorSetup({ path, text, wrapLines }), listener] });
  // The text on disk. Unknown for a restored draft, which counts as edited until it is saved.
  let saved: DocumentText | null = documents.documentAt(path)?.edited ? null : state.doc;

  const dispatch = (spec: TransactionSpec) => {
    if (view) view.dispatch(spec);
    else state = state.update(spec).state;
  };

  const buffer: CodeBuffer = {
    language: null,
    snapshot() {
      const { doc } = state;
      return { text: state.sliceDoc(), markSaved: () => (saved = doc) };
    },
    show(next) {
      const now = state.toText(next);
      dispatch({ changes: smallestChange(state.sliceDoc(0), next, state), annotations: fromDisk.of(true) });
      saved = state.doc.eq(now) ? state.doc : now;
    },
    renamed(to) {
      path = to;
      dispatch({ effects: label.reconfigure(labelFor(to)) });
      void loadLanguage();
      void loadIndentation();
    },
    mount(container) {
      const mounted = new EditorView({ state, parent: container, ...(scrollPosition ? { scrollTo: scrollPosition } : {}) });
      view = mounted;
      cursor.setPosition(formatPosition(state), selectedText(state));
      cursor.setLanguage(buffer.language);
      return {
        view: mounted,
        [Symbol.dispose]() {
          scrollPosition = mounted.scrollSnapshot();
          state = mounted.state;
          view = null;
          mounted.destroy();
        },
      };
    },
  };
  codeBuffers.set(buffer, buffer);
  documents.attach(path, buffer);
  void loadLanguage();
  void loadIndentation();
  return buffer;

  async function loadLanguage(): Promise<void> {
    const current = path;
    const description = LanguageDescription.matchFilename(languages, nameOf(path));
    const support = text.length < MAX_HIGHLIGHTED_CHARS ? await description?.load() : undefined;
    if (path !== current) return;
    buffer.language = support && description ? description.name : null;
    dispatch({ effects: language.reconfigure(support ?? []) });
    if (view) cursor.setLanguage(buffer.language);
  }

  async function loadIndentation(): Promise<void> {
    const current = path;
    const configured = await configuredIndentation(workspace, path);
    if (configured && path === current) dispatch({ effects: indentation.reconfigure(configured) });
  }
}

// Replaces only the differing part, so that the selection and the scroll position stay.
function smallestChange(before: string, after: string, state: EditorState): { from: number; to: number; insert: DocumentText } {
  const a = state.toText(before);
  const b = state.toText(after);
  const [left, right] = [a.toString(), b.toString()];
  let start = 0;
  const limit = Math.min(left.length, right.length);
  while (start < limit && left.charCodeAt(start) === right.charCodeAt(start)) start++;
  let end = 0;
  while (end < limit - start && left.charCodeAt(left.length - 1 - end) === right.charCodeAt(right.length - 1 - end)) end++;
  return { from: start, to: left.length - end, insert: b.slice(start, right.length - end) };
}

const MAX_SELECTED_CHARS = 200;

function selectedText(state: EditorState): string | null {
  const { from, to, empty } = state.selection.main;
  if (empty || to - from > MAX_SELECTED_CHARS || to > state.doc.lineAt(from).to) return null;
  return state.sliceDoc(from, to);
}

function formatPosition(state: EditorState): string {
  const { main } = state.selection;
  const line = state.doc.lineAt(main.head);
  const selected = main.empty ? "" : ` (${main.to - main.from} selected)`;
  return `Ln ${line.number}, Col ${main.head - line.from + 1}${selected}`;
}
