import { ApiError, type Api } from "../../connection/api.ts";
import { createBackoff, type Backoff } from "../../connection/backoff.ts";
import { encodeText, type Encoding } from "../../text/encoding.ts";
import { movedPath } from "../../text/paths.ts";
import { describeError, type Notices } from "../page/notices.ts";
import { contentOf, mediumOf, MAX_TEXT_BYTES } from "./content.ts";
import { mayAutosave, newDocument, type TextDocument } from "./document.ts";
import type { Draft, Drafts } from "./drafts.ts";
import { createOpenFiles } from "./open-files.ts";

export interface DocumentsDeps {
  api: Pick<Api, "readFile" | "writeFile">;
  drafts: Drafts;
  notices: Pick<Notices, "error" | "dismiss">;
  autosave: () => boolean;
  autosaveAfterMs?: () => number;
  draftAfterMs?: number;
  // The waits between attempts of autosave to save a file after a failure.
  retryBackoff?: () => Backoff;
}

export type Documents = ReturnType<typeof createDocuments>;

// Reads and saves the open files, follows changes on disk and keeps drafts. The decisions are in document.ts.
export function createDocuments(deps: DocumentsDeps) {
  const { api, drafts, notices, autosave, autosaveAfterMs = () => 1000, draftAfterMs = 400 } = deps;
  const { retryBackoff = () => createBackoff({ firstMs: 2000, maxMs: 60_000 }) } = deps;
  const openFiles = createOpenFiles({ onClean: (path) => void drafts.remove(path) });
  const { documentAt, apply } = openFiles;
  const timers = new Map<string, ReturnType<typeof setTimeout>>();
  const saves = new Map<string, Promise<boolean>>();
  // The files whose last save failed while autosave was on. The next attempt is scheduled.
  const retries = new Map<string, Backoff>();
  // The notices that say why a file is not saved.
  const failureNotices = new Map<string, number>();
  openFiles.store.subscribe(() => {
    for (const path of failureNotices.keys()) if (!documentAt(path)?.failure) dismissFailure(path);
  });
  // Files that changed on disk during a save. Only reading them again shows whether the change was ours.
  const rereadAfterSave = new Set<string>();
  // Files that may have changed on disk after the request that loads them was answered.
  const rereadAfterLoad = new Set<string>();

  async function load(path: string): Promise<void> {
    await loadOnce(path);
    if (rereadAfterLoad.delete(path)) await reread(path);
  }

  async function loadOnce(path: string): Promise<void> {
    try {
      const limit = mediumOf(path) ? 0 : MAX_TEXT_BYTES;
      const [{ etag, size, bytes }, draft] = await Promise.all([api.readFile(path, limit), drafts.get(path)]);
      // Closed in the meantime.
      if (openFiles.get(path) === undefined) return;
      const content = contentOf(path, bytes);
      if (content.kind !== "text") return openFiles.set(path, { kind: content.kind, version: etag, size });
      openText(path, { ...content, etag }, draft);
    } catch (error) {
      await loadFailed(path, error);
    }
  }

  // Restores a draft. If the file has changed since the draft was made, that is a conflict.
  function openText(path: string, disk: { text: string; etag: string; encoding: Encoding }, draft: Draft | null): void {
    const restored = draft !== null && draft.text !== disk.text ? draft : null;
    openFiles.setText(path, restored?.text ?? disk.text);
    openFiles.set(path, {
      kind: "text",
      document: restored ? { ...newDocument(path, restored.etag), edited: true } : newDocument(path, disk.etag),
      encoding: disk.encoding,
    });
    if (!restored) return;
    apply(path, { type: "readFromDisk", text: disk.text, etag: disk.etag });
    if (autosave()) schedule(`save ${path}`, autosaveAfterMs(), () => autosaveNow(path));
  }

  async function loadFailed(path: string, error: unknown): Promise<void> {
    const gone = isGone(error);
    const draft = gone ? await drafts.get(path) : null;
    if (openFiles.get(path) === undefined) return;
    if (draft === null) return openFiles.set(path, { kind: "failed", message: describeError(error), gone });
    openFiles.setText(path, draft.text);
    const restored: TextDocument = { ...newDocument(path, draft.etag), edited: true, conflict: { kind: "deleted" } };
    openFiles.set(path, { kind: "text", document: restored, encoding: "utf-8" });
  }

  // `differs` says whether the text now differs from the saved one; undo can make them equal again.
  // The page that made a change saves it first; if it does not, those with the same text do.
  function edited(path: string, { differs, byOther = false }: { differs: boolean; byOther?: boolean }): void {
    apply(path, { type: "edited", differs });
    if (!documentAt(path)?.edited) return;
    schedule(`draft ${path}`, draftAfterMs, () => keepDraft(path));
    const afterMs = autosaveAfterMs() + (byOther ? OTHERS_SAVE_MS : 0);
    if (autosave() && !retries.has(path)) schedule(`save ${path}`, afterMs, () => autosaveNow(path));
  }

  function schedule(key: string, afterMs: number, work: () => void): void {
    clearTimeout(timers.get(key));
    timers.set(key, setTimeout(work, afterMs));
  }

  function keepDraft(path: string): void {
    const doc = documentAt(path);
    if (doc?.edited) void drafts.put(path, { text: openFiles.snapshot(path).text, etag: doc.etag });
  }

  function autosaveNow(path: string): void {
    const doc = documentAt(path);
    if (doc?.saving) schedule(`save ${path}`, autosaveAfterMs(), () => autosaveNow(path));
    else if (doc && autosave() && mayAutosave(doc)) void save(path);
    else retries.delete(path);
  }

  function save(path: string): Promise<boolean> {
    const running = saves.get(path);
    if (running) return running;
    const work = write(path).finally(() => saves.delete(path));
    saves.set(path, work);
    return work;
  }

  async function write(path: string): Promise<boolean> {
    const doc = documentAt(path);
    if (doc === null || doc.conflict?.kind === "changed") return false;
    const recreate = doc.conflict?.kind === "deleted";
    if (recreate) apply(path, { type: "keptMine" });
    apply(path, { type: "saveStarted" });
    const sharing = openFiles.sharing(path);
    if (sharing) await sharing.flush();
    const { text, markSaved } = openFiles.snapshot(path);
    const { revision = 0, etag: base = null } = documentAt(path) ?? {};
    try {
      const { etag } = await api.writeFile(path, encodeText(text, openFiles.encodingOf(path)), recreate ? null : base);
      openFiles.setText(path, text);
      markSaved();
      retries.delete(path);
      apply(path, { type: "saved", etag, revision });
      if (documentAt(path)?.edited) edited(path, { differs: true });
      return true;
    } catch (error) {
      await saveFailed(path, error);
      return false;
    } finally {
      if (rereadAfterSave.delete(path)) void reread(path);
    }
  }

  async function saveFailed(path: string, error: unknown): Promise<void> {
    keepDraft(path);
    if (error instanceof ApiError && error.status === 412) return reread(path);
    const isNews = documentAt(path)?.failure !== describeError(error);
    apply(path, { type: "saveFailed", message: describeError(error) });
    if (autosave()) scheduleRetry(path);
    // The status bar reports a lost connection.
    if (!isNews) return;
    dismissFailure(path);
    if (!isOffline(error)) failureNotices.set(path, notices.error(`Could not save ${path}: ${describeError(error)}`));
  }

  function dismissFailure(path: string): void {
    const id = failureNotices.get(path);
    if (id === undefined) return;
    failureNotices.delete(path);
    notices.dismiss(id);
  }

  function scheduleRetry(path: string): void {
    const backoff = retries.get(path) ?? retryBackoff();
    retries.set(path, backoff);
    schedule(`save ${path}`, backoff.nextMs(), () => autosaveNow(path));
  }

  async function reread(path: string): Promise<void> {
    const file = openFiles.get(path);
    if (file === undefined) return;
    if (file.kind === "loading") return void rereadAfterLoad.add(path);
    if (file.kind !== "text") return loadOnce(path);
    try {
      const { etag, size, bytes } = await api.readFile(path, MAX_TEXT_BYTES);
      const now = documentAt(path);
      if (now?.saving && !file.document.saving) return void rereadAfterSave.add(path);
      // It was saved in the meantime, so this may be the text before that.
      if (now && now.etag !== file.document.etag && now.etag !== etag) return await reread(path);
      const content = contentOf(path, bytes);
      if (content.kind === "text") {
        openFiles.setEncoding(path, content.encoding);
        return followDisk(path, content.text, etag);
      }
      if (!documentAt(path)?.edited) openFiles.set(path, { kind: content.kind, version: etag, size });
    } catch (error) {
      if (isGone(error)) apply(path, { type: "deletedOnDisk" });
    }
  }

  function followDisk(path: string, text: string, etag: string): void {
    const mine = openFiles.snapshot(path);
    const doc = documentAt(path);
    if (doc && etag !== doc.etag) {
      const verdict = openFiles.recognize(path, text, etag);
      if (verdict === "wait") return;
      if (verdict === "ours") {
        const { differs } = openFiles.bufferOf(path)?.savedAs?.(text) ?? { differs: false };
        openFiles.setText(path, text);
        apply(path, { type: "savedByOther", etag, differs });
        return differs ? edited(path, { differs }) : undefined;
      }
    }
    // Equal texts are no conflict: the response of our save was lost, or two people made the same edit.
    if (doc?.edited && mine.text === text) {
      mine.markSaved();
      return apply(path, { type: "saved", etag, revision: doc.revision });
    }
    apply(path, { type: "readFromDisk", text, etag });
  }

  const unsaved = () => openFiles.paths().filter((path) => documentAt(path)?.edited);

  return {
    store: openFiles.store,
    bufferOf: openFiles.bufferOf,
    attach: openFiles.attach,
    documentAt,
    edited,
    save,
    unsaved,
    textOf: (path: string) => openFiles.snapshot(path).text,
    saveAll: () => Promise.all(unsaved().map(save)),
    keepDrafts: () => openFiles.paths().forEach(keepDraft),
    async open(path: string) {
      const known = openFiles.get(path);
      if (known && known.kind !== "failed") return;
      openFiles.set(path, { kind: "loading" });
      await load(path);
    },
    // The daemon reports these paths as changed. That includes our own saves, which the version identifies.
    changed(paths: readonly string[]) {
      for (const path of paths.filter(openFiles.get)) {
        if (documentAt(path)?.saving) rereadAfterSave.add(path);
        else void reread(path);
      }
    },
    // After a disconnect, reads everything again and retries the saves that failed in the meantime.
    async resync() {
      await Promise.all(openFiles.paths().map(reread));
      for (const path of retries.keys()) autosaveNow(path);
    },
    // Autosave was turned on.
    autosaveAll: () => unsaved().forEach(autosaveNow),
    async keepMine(path: string) {
      apply(path, { type: "keptMine" });
      await save(path);
    },
    // Writes the file in another encoding from now on.
    async convert(path: string, encoding: Encoding) {
      openFiles.setEncoding(path, encoding);
      await save(path);
    },
    takeTheirs: (path: string) => apply(path, { type: "tookTheirs" }),
    // Discards unsaved text.
    close(path: string) {
      for (const key of [`draft ${path}`, `save ${path}`]) clearTimeout(timers.get(key));
      retries.delete(path);
      void drafts.remove(path);
      openFiles.remove(path);
    },
    // Forgets a file without unsaved text. The draft of one that is still loading stays.
    release(path: string) {
      if (!documentAt(path)?.edited) openFiles.remove(path);
    },
    // Saves everything below a path, so that it can be moved.
    async flush(folder: string) {
      for (const path of openFiles.pathsWithin(folder)) {
        await saves.get(path);
        if (documentAt(path)?.edited) await save(path);
      }
    },
    moved(from: string, to: string) {
      for (const path of openFiles.pathsWithin(from)) {
        const target = movedPath(path, from, to);
        openFiles.rename(path, target);
        retries.delete(path);
        void drafts.remove(path);
        keepDraft(target);
        void reread(target);
      }
    },
  };
}

const OTHERS_SAVE_MS = 1500;

const isOffline = (error: unknown): boolean => error instanceof ApiError && error.status === 0;

// A folder or a special file may have replaced the file.
const isGone = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 404 || error.code === "is_folder" || error.code === "not_a_file");
