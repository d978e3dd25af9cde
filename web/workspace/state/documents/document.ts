// One open file, as plain data. `etag` is the version on disk that the text started from; null when the file is not on
// disk (deleted by somebody, or never saved). The text itself lives in the editor; here is only what decides about it.
export interface Document {
  path: string;
  etag: string | null;
  // The text differs from what was read or saved last.
  edited: boolean;
  // Grows with every edit, so that a save that comes back knows whether typing went on meanwhile.
  revision: number;
  saving: boolean;
  // What happened on disk under an edited text: nothing is overwritten until the person has decided.
  conflict: Conflict | null;
  // Why the last save failed, in plain words.
  failure: string | null;
}

export type Conflict = { kind: "changed"; text: string; etag: string } | { kind: "deleted" };

export type DocumentEvent =
  | { type: "edited"; differs: boolean }
  | { type: "saveStarted" }
  | { type: "saved"; etag: string; revision: number }
  | { type: "saveFailed"; message: string }
  // What the disk has now, after a change by somebody else or a refused save.
  | { type: "disk"; text: string; etag: string }
  | { type: "deletedOnDisk" }
  | { type: "keptMine" }
  | { type: "tookTheirs" };

export interface Step {
  document: Document;
  // The text that the editor must now show, when it is another than the one it has.
  show?: string;
}

export const openedDocument = (path: string, etag: string | null): Document => ({
  path,
  etag,
  edited: false,
  revision: 0,
  saving: false,
  conflict: null,
  failure: null,
});

// Every change of an open file goes through here. A clean text follows the disk; an edited one is never replaced.
export function step(document: Document, event: DocumentEvent): Step {
  switch (event.type) {
    case "edited":
      return { document: { ...document, edited: event.differs, revision: document.revision + 1 } };
    case "saveStarted":
      return { document: { ...document, saving: true, failure: null } };
    case "saved": {
      const edited = document.edited && document.revision !== event.revision;
      return { document: { ...document, etag: event.etag, edited, saving: false, conflict: null, failure: null } };
    }
    case "saveFailed":
      return { document: { ...document, saving: false, failure: event.message } };
    case "disk":
      return seeDisk(document, event.text, event.etag);
    case "deletedOnDisk":
      return { document: { ...document, saving: false, conflict: { kind: "deleted" } } };
    case "keptMine":
      return { document: keepMine(document) };
    case "tookTheirs":
      return takeTheirs(document);
  }
}

function seeDisk(document: Document, text: string, etag: string): Step {
  if (etag === document.etag) {
    const back = document.conflict?.kind === "deleted" ? null : document.conflict;
    return { document: { ...document, saving: false, conflict: back } };
  }
  if (document.edited) return { document: { ...document, saving: false, conflict: { kind: "changed", text, etag } } };
  return { document: { ...document, etag, saving: false, conflict: null }, show: text };
}

// The next save is allowed to replace the version that the person has seen and decided against.
function keepMine(document: Document): Document {
  const { conflict } = document;
  if (conflict === null) return document;
  return { ...document, etag: conflict.kind === "changed" ? conflict.etag : null, edited: true, conflict: null };
}

function takeTheirs(document: Document): Step {
  const { conflict } = document;
  if (conflict?.kind !== "changed") return { document };
  return { document: { ...document, etag: conflict.etag, edited: false, conflict: null, failure: null }, show: conflict.text };
}

// Saving without being asked is only for a text that nobody else has touched.
export const mayAutosave = (document: Document): boolean =>
  document.edited && !document.saving && document.conflict === null && document.failure === null;
