import { LanguageDescription } from "@codemirror/language";
import { languages } from "@codemirror/language-data";
import {
  Annotation,
  EditorState,
  Transaction,
  type ChangeSet,
  type Compartment,
  type Extension,
  type Text as DocumentText,
} from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { nameOf } from "../../text/paths.ts";
import type { EditorBuffer, Sharing } from "../../state/documents/open-files.ts";
import { visit } from "../../state/tabs/places.ts";
import { configuredIndentation, indentation } from "../indentation/extension.ts";
import { languageSupport, type SupportDeps } from "../language/support.ts";
import { offsetAt, smallestChange } from "../language/protocol/smallest-change.ts";
import { afterPaint } from "./after-paint.ts";
import { hasLongLine } from "./long-lines.ts";
import { createSharedViews, isCopied } from "./shared-views.ts";
import {
  editorSetup,
  intelligence,
  label,
  labelFor,
  language,
  MAX_HIGHLIGHTED_CHARS,
  noSupport,
  shortLines,
  shortLineSetup,
} from "./setup.ts";
import type { Uses } from "../../actions/actions.ts";

export type BufferDeps = SupportDeps & Uses<"activeEditor" | "cursor" | "files" | "places" | "preferences">;

// A text with its history and selections. It outlives its views, which exist only while their tabs are shown.
export interface CodeBuffer extends EditorBuffer {
  // Resolves when the language of the file is loaded.
  languageLoaded: Promise<void>;
  mount(container: HTMLElement, group: string): MountedView;
}

export interface MountedView extends Disposable {
  view: EditorView;
  // Shows position and language of this view in the status bar from now on.
  report(): void;
}

// Marks a change that came from the disk.
const fromDisk = Annotation.define<boolean>();
const isRemote = (transaction: Transaction) => transaction.annotation(Transaction.remote) === true;
const isEdit = (transaction: Transaction) => transaction.docChanged && !isCopied(transaction) && !transaction.annotation(fromDisk);
const isJump = (transaction: Transaction) => transaction.isUserEvent("select.jump");
const codeBuffers = new WeakMap<EditorBuffer, CodeBuffer>();

export function bufferFor(deps: BufferDeps, path: string): CodeBuffer {
  const attached = deps.documents.bufferOf(path);
  return (attached && codeBuffers.get(attached)) ?? createBuffer(deps, path);
}

function createBuffer(deps: BufferDeps, firstPath: string): CodeBuffer {
  const { documents, cursor, places, preferences } = deps;
  let path = firstPath;
  let languageName: string | null = null;
  const text = documents.textOf(path);
  const chosen = preferences.store.getState();
  // The view whose position the status bar shows.
  let reporting: EditorView | null = null;

  const views = createSharedViews({
    createState: (extension) =>
      EditorState.create({
        doc: text,
        extensions: [editorSetup({ path, text, preferences: chosen }), EditorState.readOnly.of(!deps.mayEdit), extension],
      }),
    onUpdate({ view, state, startState, transactions, docChanged, selectionSet }) {
      const { doc } = state;
      if (transactions.some(isEdit))
        documents.edited(path, { differs: saved === null || !doc.eq(saved), byOther: transactions.every(isRemote) });
      if (state.field(hasLongLine) !== startState.field(hasLongLine)) {
        set(shortLines, state.field(hasLongLine) ? noSupport : shortLineSetup);
        buffer.languageLoaded = loadLanguage();
      }
      if (view === reporting && (docChanged || selectionSet)) reportPosition(view, transactions.some(isJump) ? "jumped" : "moved");
    },
    onChange(transaction) {
      if (!isRemote(transaction)) for (const listener of listeners) listener(transaction.changes);
    },
  });
  const listeners = new Set<(changes: ChangeSet) => void>();
  let sharing: Sharing | null = null;
  // The text on disk. Unknown for a restored draft, which counts as edited until it is saved.
  let saved: DocumentText | null = documents.documentAt(path)?.edited ? null : views.state().doc;

  function reportPosition({ state }: EditorView, how: "moved" | "jumped" = "moved"): void {
    const { head } = state.selection.main;
    const line = state.doc.lineAt(head);
    cursor.setPosition(formatPosition(state), selectedText(state));
    // An editor that is about to show another place was never at its old one.
    if (cursor.store.getState().reveal?.path === path) return;
    Object.assign(places, visit(places, { path, line: line.number, column: head - line.from + 1 }, how));
  }

  const buffer: CodeBuffer = {
    languageLoaded: Promise.resolve(),
    snapshot() {
      const { doc } = views.state();
      return { text: views.state().sliceDoc(), markSaved: () => (saved = doc) };
    },
    show(next) {
      const state = views.state();
      const now = state.toText(next);
      views.change({ changes: smallestChange(state.doc, now), annotations: fromDisk.of(true) });
      const shown = views.state().doc;
      saved = shown.eq(now) ? shown : now;
    },
    replace(parts) {
      const { doc } = views.state();
      const changes = parts.map(({ start, end, text: insert }) => ({ from: offsetAt(doc, start), to: offsetAt(doc, end), insert }));
      views.change({ changes, userEvent: "input.replace" });
      reportEdit();
    },
    edit(next) {
      const state = views.state();
      views.change({ changes: smallestChange(state.doc, state.toText(next)), userEvent: "input.replace" });
      reportEdit();
    },
    savedAs(onDisk) {
      const state = views.state();
      const now = state.toText(onDisk);
      saved = state.doc.eq(now) ? state.doc : now;
      return { differs: saved !== state.doc };
    },
    sharing: () => sharing,
    recognize: (onDisk, etag) => sharing?.recognize(views.state().toText(onDisk), etag) ?? "foreign",
    live: {
      doc: () => views.state().doc,
      saved: () => saved,
      listen(listener) {
        listeners.add(listener);
        return { [Symbol.dispose]: () => void listeners.delete(listener) };
      },
      receive: (changes) => change(changes, { byOther: true }),
      edit: (changes) => change(changes, { byOther: false }),
      share: (next) => (sharing = next),
    },
    renamed(to) {
      path = to;
      views.configure(label.reconfigure(labelFor(to)));
      buffer.languageLoaded = loadLanguage();
      void loadIndentation();
      void loadIntelligence();
    },
    mount(container, group) {
      const mounted = views.mount(container, group);
      return {
        view: mounted.view,
        report() {
          reporting = mounted.view;
          reportPosition(mounted.view);
          cursor.setLanguage(languageName);
        },
        [Symbol.dispose]() {
          if (reporting === mounted.view) reporting = null;
          mounted[Symbol.dispose]();
        },
      };
    },
  };
  codeBuffers.set(buffer, buffer);
  documents.attach(path, buffer);
  buffer.languageLoaded = loadLanguage();
  void loadIndentation();
  void loadIntelligence();
  return buffer;

  function change(changes: ChangeSet, { byOther }: { byOther: boolean }): void {
    if (changes.empty) return;
    const annotations = [Transaction.addToHistory.of(!byOther), Transaction.remote.of(byOther)];
    views.change({ changes, annotations, ...(byOther ? {} : { userEvent: "input.merge" }) });
    reportEdit({ byOther });
  }

  // No view reports the edit of a text that is not on screen.
  function reportEdit({ byOther = false } = {}): void {
    documents.edited(path, { differs: saved === null || !views.state().doc.eq(saved), byOther });
  }

  async function loadLanguage(): Promise<void> {
    const current = path;
    const description = LanguageDescription.matchFilename(languages, nameOf(path));
    const isPlain = () => text.length >= MAX_HIGHLIGHTED_CHARS || views.state().field(hasLongLine);
    // Several files, which would delay the first text.
    if (description && !description.support) await afterPaint();
    const support = isPlain() ? undefined : await description?.load();
    if (path !== current || (support && isPlain())) return;
    languageName = support && description ? description.name : null;
    set(language, support ?? noSupport);
    if (reporting) cursor.setLanguage(languageName);
  }

  async function loadIndentation(): Promise<void> {
    const current = path;
    const configured = await configuredIndentation(deps, path);
    if (configured && path === current) views.configure(indentation.reconfigure(configured));
  }

  async function loadIntelligence(): Promise<void> {
    const current = path;
    const support = await languageSupport(deps, path, () => views.state().doc);
    if (path === current) set(intelligence, support ?? noSupport);
  }

  // Most files have neither, and configuring a view is slow.
  function set(compartment: Compartment, extension: Extension): void {
    if (compartment.get(views.state()) !== extension) views.configure(compartment.reconfigure(extension));
  }
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
