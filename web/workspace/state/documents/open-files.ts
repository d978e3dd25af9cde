import { createStore } from "zustand/vanilla";
import { isWithin } from "../../text/paths.ts";
import { step, type Document, type DocumentEvent } from "./document.ts";

// A file that is open in a tab.
export type OpenFile =
  | { kind: "loading" }
  | { kind: "text"; document: Document }
  | { kind: "image"; version: string }
  | { kind: "binary" | "large"; size: number }
  | { kind: "failed"; message: string; gone: boolean };

// The editor's side of an open text.
export interface Buffer {
  // The text as it is now; `saved` marks just this text as the one on disk.
  snapshot(): { text: string; saved: () => void };
  show(text: string): void;
}

export type OpenFiles = ReturnType<typeof createOpenFiles>;

// What is open, with its texts. A text lives in its editor once there is one, and here until then.
export function createOpenFiles(onSettled: (path: string) => void) {
  const store = createStore<{ files: Record<string, OpenFile> }>(() => ({ files: {} }));
  const texts = new Map<string, string>();
  const buffers = new Map<string, Buffer>();

  const at = (path: string): OpenFile | undefined => store.getState().files[path];
  const documentAt = (path: string): Document | null => {
    const file = at(path);
    return file?.kind === "text" ? file.document : null;
  };
  const set = (path: string, file: OpenFile) => store.setState(({ files }) => ({ files: { ...files, [path]: file } }));
  const snapshot = (path: string) => buffers.get(path)?.snapshot() ?? { text: texts.get(path) ?? "", saved: () => {} };

  function forget(path: string): void {
    buffers.delete(path);
    texts.delete(path);
    store.setState(({ files: { [path]: _closed, ...files } }) => ({ files }));
  }

  return {
    store,
    at,
    documentAt,
    set,
    snapshot,
    forget,
    paths: (): string[] => Object.keys(store.getState().files),
    below: (folder: string): string[] => Object.keys(store.getState().files).filter((path) => isWithin(path, folder)),
    keepText: (path: string, text: string) => void texts.set(path, text),
    bufferOf: (path: string) => buffers.get(path),
    attach: (path: string, buffer: Buffer) => void buffers.set(path, buffer),
    // Lets a document take a step, and the editor show what it must.
    apply(path: string, event: DocumentEvent) {
      const before = documentAt(path);
      if (before === null) return;
      const { document, show } = step(before, event);
      if (document !== before) set(path, { kind: "text", document });
      if (show !== undefined) {
        texts.set(path, show);
        buffers.get(path)?.show(show);
      }
      if (before.edited && !document.edited) onSettled(path);
    },
    carry(from: string, to: string) {
      const file = at(from);
      if (file === undefined) return;
      const { text } = snapshot(from);
      forget(from);
      texts.set(to, text);
      set(to, file.kind === "text" ? { kind: "text", document: { ...file.document, path: to, saving: false } } : file);
    },
  };
}
