import { ApiError, type Api } from "../../connection/api.ts";
import { plainWords, type Notices } from "../page/notices.ts";
import { movedPath } from "../../text/paths.ts";
import { contentOf, isImage, MAX_TEXT_BYTES } from "./content.ts";
import { mayAutosave, openedDocument } from "./document.ts";
import type { Draft, Drafts } from "./drafts.ts";
import { createOpenFiles } from "./open-files.ts";

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
  const open = createOpenFiles((path) => void drafts.remove(path));
  const { documentAt, apply } = open;
  const timers = new Map<string, ReturnType<typeof setTimeout>>();
  const saves = new Map<string, Promise<boolean>>();
  // Changed on disk while a save was under way: ours or somebody else's, which only another look can tell.
  const lookAfterSave = new Set<string>();

  async function load(path: string): Promise<void> {
    try {
      const limit = isImage(path) ? 0 : MAX_TEXT_BYTES;
      const [{ etag, size, bytes }, draft] = await Promise.all([api.readFile(path, limit), drafts.get(path)]);
      const content = contentOf(path, bytes);
      if (content.kind === "image") return open.set(path, { kind: "image", version: etag });
      if (content.kind !== "text") return open.set(path, { kind: content.kind, size });
      restore(path, { text: content.text, etag }, draft);
    } catch (error) {
      await loadFailed(path, error);
    }
  }

  // An unsaved text from last time is put back; when the disk went on meanwhile, the person decides.
  function restore(path: string, disk: { text: string; etag: string }, draft: Draft | null): void {
    const unsaved = draft !== null && draft.text !== disk.text;
    open.keepText(path, unsaved ? draft.text : disk.text);
    const document = unsaved ? { ...openedDocument(path, draft.etag), edited: true } : openedDocument(path, disk.etag);
    open.set(path, { kind: "text", document });
    if (unsaved) apply(path, { type: "disk", ...disk });
  }

  async function loadFailed(path: string, error: unknown): Promise<void> {
    const gone = isGone(error);
    const draft = gone ? await drafts.get(path) : null;
    if (draft === null) return open.set(path, { kind: "failed", message: plainWords(error), gone });
    open.keepText(path, draft.text);
    open.set(path, { kind: "text", document: { ...openedDocument(path, draft.etag), edited: true, conflict: { kind: "deleted" } } });
  }

  function edited(path: string, differs: boolean): void {
    apply(path, { type: "edited", differs });
    if (!documentAt(path)?.edited) return;
    schedule(`draft ${path}`, draftAfterMs, () => keepDraft(path));
    if (autosave()) schedule(`save ${path}`, autosaveAfterMs, () => autosaveNow(path));
  }

  function schedule(key: string, afterMs: number, work: () => void): void {
    clearTimeout(timers.get(key));
    timers.set(key, setTimeout(work, afterMs));
  }

  function keepDraft(path: string): void {
    const document = documentAt(path);
    if (document?.edited) void drafts.put(path, { text: open.snapshot(path).text, etag: document.etag });
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
    const { text, saved } = open.snapshot(path);
    apply(path, { type: "saveStarted" });
    try {
      const { etag } = await api.writeFile(path, text, recreate ? null : document.etag);
      open.keepText(path, text);
      saved();
      apply(path, { type: "saved", etag, revision: document.revision });
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
    const file = open.at(path);
    if (file === undefined || file.kind === "loading") return;
    if (file.kind !== "text") return load(path);
    try {
      const { etag, size, bytes } = await api.readFile(path, MAX_TEXT_BYTES);
      const content = contentOf(path, bytes);
      if (content.kind === "text") return seeText(path, content.text, etag);
      if (!documentAt(path)?.edited && content.kind !== "image") open.set(path, { kind: content.kind, size });
    } catch (error) {
      if (isGone(error)) apply(path, { type: "deletedOnDisk" });
    }
  }

  function seeText(path: string, text: string, etag: string): void {
    const mine = open.snapshot(path);
    const document = documentAt(path);
    // The same text: a save whose answer was lost on the way, or two people of one mind.
    if (document?.edited && mine.text === text) {
      mine.saved();
      return apply(path, { type: "saved", etag, revision: document.revision });
    }
    apply(path, { type: "disk", text, etag });
  }

  const unsaved = () => open.paths().filter((path) => documentAt(path)?.edited);

  return {
    store: open.store,
    bufferOf: open.bufferOf,
    attach: open.attach,
    documentAt,
    edited,
    save,
    unsaved,
    textOf: (path: string) => open.snapshot(path).text,
    saveAll: () => Promise.all(unsaved().map(save)),
    keepDrafts: () => open.paths().forEach(keepDraft),
    async open(path: string) {
      const known = open.at(path);
      if (known && known.kind !== "failed") return;
      open.set(path, { kind: "loading" });
      await load(path);
    },
    // The daemon says these paths changed. Our own saves come back here too and are known by their version.
    changed(paths: readonly string[]) {
      for (const path of paths.filter(open.at)) {
        if (documentAt(path)?.saving) lookAfterSave.add(path);
        else void look(path);
      }
    },
    // After a cut nothing is known about what happened meanwhile; what could not be saved then is saved now.
    async resync() {
      await Promise.all(open.paths().map(look));
      for (const path of unsaved()) {
        const document = documentAt(path);
        if (document?.conflict === null && document.failure !== null && autosave()) void save(path);
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
      open.forget(path);
    },
    // Before files are moved: what is being saved below a path is let to its end, what is not saved yet is saved.
    async flush(folder: string) {
      for (const path of open.below(folder)) {
        await saves.get(path);
        if (documentAt(path)?.edited) await save(path);
      }
    },
    moved(from: string, to: string) {
      for (const path of open.below(from)) {
        const target = movedPath(path, from, to);
        open.carry(path, target);
        void drafts.remove(path);
        keepDraft(target);
        void look(target);
      }
    },
  };
}

// A folder or something else may have taken the file's place.
const isGone = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 404 || error.code === "is_folder" || error.code === "not_a_file");
