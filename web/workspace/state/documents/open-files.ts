import type { ChangeSet, Text } from "@codemirror/state";
import { createStore } from "zustand/vanilla";
import type { Encoding } from "../../text/encoding.ts";
import { isWithin } from "../../text/paths.ts";
import type { Medium } from "./content.ts";
import { updateDocument, type DocumentEvent, type TextDocument } from "./document.ts";

// A file that is open in a tab.
export type OpenFile =
  | { kind: "loading" }
  // The encoding is that of the file on disk.
  | { kind: "text"; document: TextDocument; encoding: Encoding }
  | { kind: Medium | "binary" | "large"; version: string; size: number }
  | { kind: "failed"; message: string; gone: boolean };

// A part of a text and its replacement. Lines and characters count from 0.
export interface TextReplacement {
  start: { line: number; character: number };
  end: { line: number; character: number };
  text: string;
}

// An editor's copy of an open text.
export interface EditorBuffer {
  // The current text. `markSaved` records that this text is now on disk.
  snapshot(): { text: string; markSaved: () => void };
  show(text: string): void;
  // Makes changes that the person can undo. All positions refer to the text before.
  replace(parts: readonly TextReplacement[]): void;
  // The same with the whole new text.
  edit(text: string): void;
  // The file has another path now. The text and its history stay.
  renamed(path: string): void;
  // Records that this text is on disk. Returns whether the current text differs from it.
  savedAs?(text: string): { differs: boolean };
  // The text for others who have it open too.
  live?: LiveText;
  sharing?(): Sharing | null;
  recognize?(text: string, etag: string): ReturnType<Sharing["recognize"]>;
}

// A text that may be shared with other people.
export interface LiveText {
  doc(): Text;
  // The text on disk, as far as it is known.
  saved(): Text | null;
  // Called for every change except those from `receive`.
  listen(listener: (changes: ChangeSet) => void): Disposable;
  // Makes changes of another person.
  receive(changes: ChangeSet): void;
  // Makes changes of this person.
  edit(changes: ChangeSet): void;
  share(sharing: Sharing | null): void;
}

// The parts of a shared text that saving uses.
export interface Sharing {
  flush(): Promise<void>;
  // Whether a text on disk is one that the pages have had together (`ours`), was written by another program (`foreign`), or is not known
  // to be either yet (`wait`; the file is reported as changed when it is).
  recognize(text: Text, etag: string): "ours" | "wait" | "foreign";
}

// The open files and their texts. A text lives in its editor buffer once there is one, and here until then.
export function createOpenFiles({ onClean }: { onClean: (path: string) => void }) {
  const store = createStore<{ files: Record<string, OpenFile> }>(() => ({ files: {} }));
  const texts = new Map<string, string>();
  const buffers = new Map<string, EditorBuffer>();

  const get = (path: string): OpenFile | undefined => store.getState().files[path];
  const documentAt = (path: string): TextDocument | null => {
    const file = get(path);
    return file?.kind === "text" ? file.document : null;
  };
  const set = (path: string, file: OpenFile) => store.setState(({ files }) => ({ files: { ...files, [path]: file } }));
  const setDocument = (path: string, doc: TextDocument) => set(path, { kind: "text", document: doc, encoding: encodingOf(path) });
  const encodingOf = (path: string): Encoding => {
    const file = get(path);
    return file?.kind === "text" ? file.encoding : "utf-8";
  };
  const snapshot = (path: string) => buffers.get(path)?.snapshot() ?? { text: texts.get(path) ?? "", markSaved: () => {} };

  function remove(path: string): void {
    buffers.delete(path);
    texts.delete(path);
    store.setState(({ files: { [path]: _removed, ...files } }) => ({ files }));
  }

  return {
    store,
    get,
    documentAt,
    encodingOf,
    setEncoding(path: string, encoding: Encoding) {
      const doc = documentAt(path);
      if (doc && encoding !== encodingOf(path)) set(path, { kind: "text", document: doc, encoding });
    },
    set,
    snapshot,
    remove,
    paths: (): string[] => Object.keys(store.getState().files),
    pathsWithin: (folder: string): string[] => Object.keys(store.getState().files).filter((path) => isWithin(path, folder)),
    setText: (path: string, text: string) => void texts.set(path, text),
    bufferOf: (path: string) => buffers.get(path),
    sharing: (path: string) => buffers.get(path)?.sharing?.(),
    // A text that is not shared has only foreign versions.
    recognize: (path: string, text: string, etag: string) => buffers.get(path)?.recognize?.(text, etag) ?? "foreign",
    attach(path: string, buffer: EditorBuffer) {
      buffers.set(path, buffer);
      // Notifies those who follow the texts of open files.
      store.setState(({ files }) => ({ files }));
    },
    // Updates a document and, if necessary, the text in its editor.
    apply(path: string, event: DocumentEvent) {
      const before = documentAt(path);
      if (before === null) return;
      const { doc, show } = updateDocument(before, event);
      if (doc !== before) setDocument(path, doc);
      if (show !== undefined) {
        texts.set(path, show);
        buffers.get(path)?.show(show);
      }
      if (before.edited && !doc.edited) onClean(path);
    },
    rename(from: string, to: string) {
      const file = get(from);
      if (file === undefined) return;
      const { text } = snapshot(from);
      const buffer = buffers.get(from);
      remove(from);
      texts.set(to, text);
      if (buffer) buffers.set(to, buffer);
      buffer?.renamed(to);
      set(to, file.kind === "text" ? { ...file, document: { ...file.document, path: to, saving: false } } : file);
    },
  };
}
