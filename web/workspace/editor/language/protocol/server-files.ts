import { type LSPClient, LSPPlugin, Workspace as ClientWorkspace } from "@codemirror/lsp-client";
import { ChangeSet, type Text } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { smallestChange } from "./smallest-change.ts";

// A file that the language server regards as open.
export interface ServerFile {
  uri: string;
  languageId: string;
  version: number;
  // The text that the server has.
  doc: Text;
  // The editors that show the file.
  views: Set<EditorView>;
  getView(main?: EditorView): EditorView | null;
}

// The files that are open at one language server. A file stays open at the server while its tab is open, even if no editor
// shows it, because its text may not be saved yet. The library requires a class.
export class ServerFiles extends ClientWorkspace {
  override files: ServerFile[] = [];
  readonly #texts = new Map<string, () => Text>();
  readonly #opened: (file: ServerFile) => void;
  #isConnected = false;

  constructor(client: LSPClient, opened: (file: ServerFile) => void) {
    super(client);
    this.#opened = opened;
  }

  // Announces where the current text of a file comes from, before an editor opens it.
  provide(uri: string, text: () => Text): void {
    this.#texts.set(uri, text);
  }

  override connected(): void {
    this.#isConnected = true;
    for (const file of this.files) {
      file.doc = this.#currentText(file);
      for (const view of file.views) LSPPlugin.get(view)?.clear();
      this.client.didOpen(file);
    }
  }

  override disconnected(): void {
    this.#isConnected = false;
  }

  override openFile(uri: string, languageId: string, view: EditorView): void {
    const known = this.files.find((file) => file.uri === uri);
    if (known) {
      known.views.add(view);
      return this.#opened(known);
    }
    this.#add(uri, languageId, view.state.doc, new Set([view]));
  }

  // Opens a file that no editor shows.
  openUnseen(uri: string, languageId: string, text: () => Text): void {
    if (this.files.some((file) => file.uri === uri)) return;
    this.provide(uri, text);
    this.#add(uri, languageId, text(), new Set());
  }

  #add(uri: string, languageId: string, doc: Text, views: Set<EditorView>): void {
    const getView = (main?: EditorView) => (main && views.has(main) ? main : (views.values().next().value ?? null));
    const file: ServerFile = { uri, languageId, version: 0, doc, views, getView };
    this.files.push(file);
    if (this.#isConnected) this.client.didOpen(file);
    this.#opened(file);
  }

  override closeFile(uri: string, view: EditorView): void {
    this.files.find((file) => file.uri === uri)?.views.delete(view);
  }

  // The tab was closed, or the file has another path now.
  release(uri: string): void {
    this.#texts.delete(uri);
    if (!this.files.some((file) => file.uri === uri)) return;
    this.files = this.files.filter((file) => file.uri !== uri);
    if (this.#isConnected) this.client.didClose(uri);
  }

  override syncFiles() {
    return this.files.flatMap((file) => {
      const doc = this.#currentText(file);
      const prevDoc = file.doc;
      const plugins = [...file.views].map((view) => LSPPlugin.get(view));
      const exact = plugins.find((plugin) => plugin?.syncedDoc === prevDoc && plugin.view.state.doc === doc);
      for (const plugin of plugins) if (plugin !== exact) plugin?.clear();
      if (doc === prevDoc || doc.eq(prevDoc)) return [];
      const changes = exact?.unsyncedChanges ?? ChangeSet.of(smallestChange(prevDoc, doc), prevDoc.length);
      exact?.clear();
      file.doc = doc;
      file.version++;
      return [{ file, prevDoc, changes }];
    });
  }

  #currentText(file: ServerFile): Text {
    return file.getView()?.state.doc ?? this.#texts.get(file.uri)?.() ?? file.doc;
  }
}
