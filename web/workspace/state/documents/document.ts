// The state of one open text file. The text itself lives in the editor.
export interface TextDocument {
  path: string;
  // The version on disk that the text is based on, or null if the file is not on disk.
  etag: string | null;
  // The text differs from the version last read or saved.
  edited: boolean;
  // Increases with every edit, so that a finished save can tell whether typing continued in the meantime.
  revision: number;
  saving: boolean;
  // The change on disk that conflicts with edited text. Nothing is overwritten until the person decides.
  conflict: Conflict | null;
  // Why the last save failed.
  failure: string | null;
}

export type Conflict = { kind: "changed"; text: string; etag: string } | { kind: "deleted" };

export type DocumentEvent =
  | { type: "edited"; differs: boolean }
  | { type: "saveStarted" }
  | { type: "saved"; etag: string; revision: number }
  | { type: "saveFailed"; message: string }
  // The current content on disk, read after a change notification or a rejected save.
  | { type: "readFromDisk"; text: string; etag: string }
  // Another person has saved the text that they share with this page.
  | { type: "savedByOther"; etag: string; differs: boolean }
  | { type: "deletedOnDisk" }
  | { type: "keptMine" }
  | { type: "tookTheirs" };

export interface DocumentUpdate {
  doc: TextDocument;
  // The text that the editor must show instead of its own.
  show?: string;
}

export const newDocument = (path: string, etag: string | null): TextDocument => ({
  path,
  etag,
  edited: false,
  revision: 0,
  saving: false,
  conflict: null,
  failure: null,
});

// Every change of an open file goes through here. An unedited text follows the disk; an edited one is never replaced.
export function updateDocument(doc: TextDocument, event: DocumentEvent): DocumentUpdate {
  switch (event.type) {
    case "edited":
      return { doc: { ...doc, edited: event.differs, revision: doc.revision + 1, failure: event.differs ? doc.failure : null } };
    case "saveStarted":
      return { doc: { ...doc, saving: true } };
    case "saved": {
      const edited = doc.edited && doc.revision !== event.revision;
      return { doc: { ...doc, etag: event.etag, edited, saving: false, conflict: null, failure: null } };
    }
    case "saveFailed":
      return { doc: { ...doc, saving: false, failure: event.message } };
    case "readFromDisk":
      return followDisk(doc, event.text, event.etag);
    case "savedByOther":
      return { doc: { ...doc, etag: event.etag, edited: event.differs, saving: false, conflict: null, failure: null } };
    case "deletedOnDisk":
      return { doc: { ...doc, saving: false, conflict: { kind: "deleted" } } };
    case "keptMine":
      return { doc: keepMine(doc) };
    case "tookTheirs":
      return takeTheirs(doc);
  }
}

// Autosave must not write a text that has a conflict. It tries again after a failure.
export const mayAutosave = (doc: TextDocument): boolean => doc.edited && !doc.saving && doc.conflict === null;

function followDisk(doc: TextDocument, text: string, etag: string): DocumentUpdate {
  if (etag === doc.etag) {
    const conflict = doc.conflict?.kind === "deleted" ? null : doc.conflict;
    return { doc: { ...doc, saving: false, conflict } };
  }
  if (doc.edited) return { doc: { ...doc, saving: false, conflict: { kind: "changed", text, etag } } };
  return { doc: { ...doc, etag, saving: false, conflict: null, failure: null }, show: text };
}

// Lets the next save replace the version on disk that the person decided against.
function keepMine(doc: TextDocument): TextDocument {
  const { conflict } = doc;
  if (conflict === null) return doc;
  return { ...doc, etag: conflict.kind === "changed" ? conflict.etag : null, edited: true, conflict: null };
}

function takeTheirs(doc: TextDocument): DocumentUpdate {
  const { conflict } = doc;
  if (conflict?.kind !== "changed") return { doc };
  return { doc: { ...doc, etag: conflict.etag, edited: false, conflict: null, failure: null }, show: conflict.text };
}
