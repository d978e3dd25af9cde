import { createStore } from "zustand/vanilla";
import { ApiError, type Api } from "../connection/api.ts";
import type { Notices } from "../parts/notices.ts";
import { plainWords } from "../parts/notices.ts";
import { isWithin, movedPath } from "../parts/paths.ts";
import { contentOf, isImage, MAX_TEXT_BYTES } from "./content.ts";
import { mayAutosave, openedDocument, step, type Document, type DocumentEvent } from "./document.ts";
import type { Drafts } from "./drafts.ts";

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

export interface DocumentsDeps {
  api: Pick<Api, "readFile" | "writeFile">;
  drafts: Drafts;
  notices: Pick<Notices, "error">;
  autosave: () => boolean;
  autosaveAfterMs?: number;
  draftAfterMs?: number;
}

export type Documents = ReturnType<typeof createDocuments>;

// All open files: reading, saving, following the disk, keeping drafts. Decisions are made in document.ts.
export function createDocuments({ api, drafts, notices, autosave, autosaveAfterMs = 1000, draftAfterMs = 400 }: DocumentsDeps) {
  const store = createStore<{ files: Record<string, OpenFile> }>(() => ({ files: {} }));
  const texts = new Map<string, string>();
  const buffers = new Map<string, Buffer>();
  const timers = new Map<string, ReturnType<typeof setTimeout>>();
  // Changed on disk while a save was under way: ours or somebody else's, which only another look can tell.
  const lookAfterSave = new Set<string>();
  const saves = new Map<string, Promise<boolean>>();

  const fileAt = (path: string): OpenFile | undefined => store.getState().files[path];
  const documentAt = (path: string): Document | null => {
    const file = fileAt(path);
    return file?.kind === "text" ? file.document : null;
  };
  const setFile = (path: string, file: OpenFile) => store.setState(({ files }) => ({ files: { ...files, [path]: file } }));
  const textOf = (path: string): string => buffers.get(path)?.snapshot().text ?? texts.get(path) ?? "";

  function apply(path: string, event: DocumentEvent): void {
    const before = documentAt(path);
    if (before === null) return;
    const { document, show } = step(before, event);
    if (document !== before) setFile(path, { kind: "text", document });
    if (show !== undefined) showText(path, show);
    if (before.edited && !document.edited) void drafts.remove(path);
  }

  function showText(path: string, text: string): void {
    texts.set(path, text);
    buffers.get(path)?.show(text);
  }

  async function open(path: string): Promise<void> {
    const known = fileAt(path);
    if (known && known.kind !== "failed") return;
    setFile(path, { kind: "loading" });
    await load(path);
  }

  async function load(path: string): Promise<void> {
    try {
      const [{ etag, size, bytes }, draft] = await Promise.all([api.readFile(path, isImage(path) ? 0 : MAX_TEXT_BYTES), drafts.get(path)]);
      const content = contentOf(path, bytes);
      if (content.kind === "image") return setFile(path, { kind: "image", version: etag });
      if (content.kind !== "text") return setFile(path, { kind: content.kind, size });
      restore(path, { text: content.text, etag }, draft);
    } catch (error) {
      await loadFailed(path, error);
    }
  }

  // An unsaved text from last time is put back; when the disk went on meanwhile, the person decides.
  function restore(path: string, disk: { text: string; etag: string }, draft: { text: string; etag: string | null } | null): void {
    if (draft === null || draft.text === disk.text) {
      texts.set(path, disk.text);
      return setFile(path, { kind: "text", document: openedDocument(path, disk.etag) });
    }
    texts.set(path, draft.text);
    setFile(path, { kind: "text", document: { ...openedDocument(path, draft.etag), edited: true } });
    apply(path, { type: "disk", ...disk });
  }

  async function loadFailed(path: string, error: unknown): Promise<void> {
    const gone = error instanceof ApiError && error.status === 404;
    const draft = gone ? await drafts.get(path) : null;
    if (draft === null) return setFile(path, { kind: "failed", message: plainWords(error), gone });
    texts.set(path, draft.text);
    setFile(path, { kind: "text", document: { ...openedDocument(path, draft.etag), edited: true, conflict: { kind: "deleted" } } });
  }

  function edited(path: string, differs: boolean): void {
    apply(path, { type: "edited", differs });
    const document = documentAt(path);
    if (!document?.edited) return;
    schedule(`draft ${path}`, draftAfterMs, () => keepDraft(path));
    if (autosave()) schedule(`save ${path}`, autosaveAfterMs, () => autosaveNow(path));
  }

  function schedule(key: string, afterMs: number, work: () => void): void {
    clearTimeout(timers.get(key));
    timers.set(key, setTimeout(work, afterMs));
  }

  function keepDraft(path: string): void {
    const document = documentAt(path);
    if (document?.edited) void drafts.put(path, { text: textOf(path), etag: document.etag });
  }

  function autosaveNow(path: string): void {
    const document = documentAt(path);
    if (document && mayAutosave(document)) void save(path);
    else if (document?.saving) schedule(`save ${path}`, autosaveAfterMs, () => autosaveNow(path));
  }

  function save(path: string): Promise<boolean> {
    const running = saves.get(path);
    if (running) return running;
    const work = write(path).finally(() => saves.delete(path));
    saves.set(path, work);
    return work;
  }

  async function write(path: string): Promise<boolean> {
    const document = documentAt(path);
    if (document === null || document.conflict?.kind === "changed") return false;
    const recreate = document.conflict?.kind === "deleted";
    if (recreate) apply(path, { type: "keptMine" });
    const { text, saved } = buffers.get(path)?.snapshot() ?? { text: texts.get(path) ?? "", saved: () => {} };
    apply(path, { type: "saveStarted" });
    try {
      const written = await api.writeFile(path, text, recreate ? null : document.etag);
      texts.set(path, text);
      saved();
      apply(path, { type: "saved", etag: written.etag, revision: document.revision });
      if (documentAt(path)?.edited) edited(path, true);
      return true;
    } catch (error) {
      await saveFailed(path, error);
      return false;
    } finally {
      if (lookAfterSave.delete(path)) void look(path);
    }
  }

  async function saveFailed(path: string, error: unknown): Promise<void> {
    keepDraft(path);
    if (error instanceof ApiError && error.status === 412) return look(path);
    apply(path, { type: "saveFailed", message: plainWords(error) });
    // Cut off: tried again by itself when the connection is back (see resync).
    if (!(error instanceof ApiError && error.status === 0)) notices.error(`Could not save ${path}: ${plainWords(error)}`);
  }

  // Looks at the disk and lets the document follow, or ask.
  async function look(path: string): Promise<void> {
    const file = fileAt(path);
    if (file === undefined || file.kind === "loading") return;
    if (file.kind !== "text") return load(path);
    try {
      const { etag, size, bytes } = await api.readFile(path, MAX_TEXT_BYTES);
      const content = contentOf(path, bytes);
      if (content.kind === "text") return apply(path, { type: "disk", text: content.text, etag });
      if (!documentAt(path)?.edited && content.kind !== "image") setFile(path, { kind: content.kind, size });
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) apply(path, { type: "deletedOnDisk" });
    }
  }

  return {
    store,
    open,
    edited,
    save,
    documentAt,
    textOf,
    bufferOf: (path: string) => buffers.get(path),
    attach: (path: string, buffer: Buffer) => void buffers.set(path, buffer),
    saveAll: () =>
      Promise.all(
        Object.keys(store.getState().files)
          .filter((path) => documentAt(path)?.edited)
          .map(save),
      ),
    unsaved: () => Object.keys(store.getState().files).filter((path) => documentAt(path)?.edited),
    // The daemon says these paths changed. Our own saves come back here too and are known by their version.
    changed(paths: readonly string[]) {
      for (const path of paths.filter(fileAt)) {
        if (documentAt(path)?.saving) lookAfterSave.add(path);
        else void look(path);
      }
    },
    // After a cut nothing is known about what happened meanwhile; what could not be saved then is saved now.
    async resync() {
      await Promise.all(Object.keys(store.getState().files).map(look));
      for (const path of Object.keys(store.getState().files)) {
        const document = documentAt(path);
        if (document?.edited && document.conflict === null && document.failure !== null && autosave()) void save(path);
      }
    },
    async keepMine(path: string) {
      apply(path, { type: "keptMine" });
      await save(path);
    },
    takeTheirs: (path: string) => apply(path, { type: "tookTheirs" }),
    // Leaves the text behind for good.
    close(path: string) {
      for (const key of [`draft ${path}`, `save ${path}`]) clearTimeout(timers.get(key));
      void drafts.remove(path);
      buffers.delete(path);
      texts.delete(path);
      store.setState(({ files: { [path]: _closed, ...files } }) => ({ files }));
    },
    // Before files are moved: what is being saved below a path is let to its end, what is not saved yet is saved.
    async flush(folder: string) {
      for (const path of openBelow(folder)) {
        await saves.get(path);
        if (documentAt(path)?.edited) await save(path);
      }
    },
    moved(from: string, to: string) {
      for (const path of openBelow(from)) {
        carry(path, movedPath(path, from, to));
        void look(movedPath(path, from, to));
      }
    },
    keepDrafts: () => Object.keys(store.getState().files).forEach(keepDraft),
  };

  function openBelow(folder: string): string[] {
    return Object.keys(store.getState().files).filter((path) => isWithin(path, folder));
  }

  function carry(from: string, to: string): void {
    const file = fileAt(from);
    if (file === undefined) return;
    texts.set(to, textOf(from));
    const moved = file.kind === "text" ? { kind: file.kind, document: { ...file.document, path: to, saving: false } } : file;
    store.setState(({ files: { [from]: _old, ...files } }) => ({ files: { ...files, [to]: moved } }));
    buffers.delete(from);
    texts.delete(from);
    void drafts.remove(from);
    keepDraft(to);
  }
}
