import { Text as DocumentText, type ChangeSet } from "@codemirror/state";
import { MAX_SHARED_CHARS, type TogetherFromClient, type TogetherFromDaemon } from "@berth/contract/workspace/together.ts";
import { randomId } from "../browser/random-id.ts";
import type { Documents } from "../state/documents/documents.ts";
import type { LiveText } from "../state/documents/open-files.ts";
import { changesBetween, createSharedTextCopy, rebase, type SharedTextCopy } from "./shared-text.ts";

// One text of this page, which is shared while others have it open too.
export interface SharedDocument extends Disposable {
  connected(): void;
  disconnected(): void;
  receive(message: Exclude<TogetherFromDaemon, { type: "people" | "moved" }>): void;
}

interface SharedDocumentDeps {
  path: string;
  live: LiveText;
  documents: Pick<Documents, "changed" | "documentAt">;
  send: (message: TogetherFromClient) => boolean;
  mayEdit: boolean;
}

// Several keys that are pressed quickly are one message.
const PUSH_AFTER_MS = 30;
const FLUSH_TIMEOUT_MS = 1500;
// If the page that turns a version on disk into a change does not do it, another one does.
const CLAIM_TIMEOUT_MS = 3000;

export function createSharedDocument({ path, live, documents, send, mayEdit }: SharedDocumentDeps): SharedDocument {
  const clientId = randomId();
  let copy: SharedTextCopy | null = null;
  let epoch = "";
  // The last text that the pages had together, and the text on disk at that time.
  let parting: { confirmed: DocumentText; saved: DocumentText | null } | null = null;
  let isWaiting = false;
  let pushing: ReturnType<typeof setTimeout> | undefined;
  let flushed = Promise.withResolvers<void>();
  // Versions on disk that are no version of the shared text. `mine`: this page makes them one.
  const onDisk = new Map<string, "asked" | "mine">();

  const listening = live.listen((changes) => {
    if (!copy) return;
    copy.edited(changes);
    pushing ??= setTimeout(push, PUSH_AFTER_MS);
  });
  live.share({ flush, recognize });

  function push(): void {
    clearTimeout(pushing);
    pushing = undefined;
    const updates = copy?.pending() ?? [];
    if (updates.length === 0) return settle();
    if (!copy || isWaiting || epoch === "") return;
    isWaiting = send({ type: "push", path, epoch, version: copy.version, updates });
  }

  function settle(): void {
    flushed.resolve();
    flushed = Promise.withResolvers();
  }

  // Resolves when the daemon has all changes of this page, so that the text to save is one that the others know.
  async function flush(): Promise<void> {
    if (!copy || copy.pending().length === 0) return;
    const done = flushed.promise;
    push();
    await Promise.race([done, new Promise((resolve) => setTimeout(resolve, FLUSH_TIMEOUT_MS))]);
  }

  function recognize(text: DocumentText, etag: string): "ours" | "wait" | "foreign" {
    if (!copy) return "foreign";
    if (copy.confirmed.some((known) => known.eq(text))) {
      onDisk.delete(etag);
      return "ours";
    }
    const state = onDisk.get(etag);
    if (state === "mine") return "foreign";
    // The pages that may edit decide about the change, and a viewer follows them.
    if (state === undefined && mayEdit) claim(etag, 1);
    return "wait";
  }

  function claim(etag: string, attempt: number): void {
    onDisk.set(etag, "asked");
    // Without the daemon, this page decides alone, as it does for a text that is not shared.
    if (!send({ type: "claim", path, etag: `${etag} ${attempt}` })) return takeOver(etag);
    setTimeout(() => onDisk.get(etag) === "asked" && claim(etag, attempt + 1), CLAIM_TIMEOUT_MS);
  }

  function takeOver(etag: string): void {
    onDisk.set(etag, "mine");
    documents.changed([path]);
  }

  function join(text: DocumentText, version: number): void {
    const base = commonText();
    const mine = live.doc();
    // A restored draft whose origin is unknown, or a conflict that a person has to decide.
    if (base === null || documents.documentAt(path)?.conflict) return leave();
    const hasOwn = !(mine.eq(base) || mine.eq(text) || documents.documentAt(path)?.edited === false);
    const own = hasOwn ? rebase(base, mine, text) : null;
    copy = null;
    live.receive(changesBetween(mine, text));
    copy = createSharedTextCopy(text, version, clientId);
    if (own && !own.empty) live.edit(own);
    // The text that this page has just received may be on disk already.
    documents.changed([path]);
  }

  // The text that the unsaved changes of this page are based on.
  function commonText(): DocumentText | null {
    const saved = live.saved();
    if (copy) return copy.confirmed.at(-1) ?? saved;
    return parting && parting.saved === saved ? parting.confirmed : saved;
  }

  function leave(): void {
    const confirmed = copy?.confirmed.at(-1);
    if (confirmed) parting = { confirmed, saved: live.saved() };
    copy = null;
    epoch = "";
    isWaiting = false;
    onDisk.clear();
    settle();
  }

  function accept(version: number, updates: Parameters<SharedTextCopy["receive"]>[1]): void {
    if (!copy) return;
    const current = copy;
    let changes: ChangeSet | null;
    try {
      changes = current.receive(version, updates);
    } catch {
      changes = null;
    }
    // Starts again with the daemon's text.
    if (changes === null) return void send({ type: "open", path });
    // Each push has one answer: its own updates, or those that it lacked (`shared`).
    if (updates.some((update) => update.clientId === clientId)) isWaiting = false;
    if (!changes.empty) live.receive(changes);
    if (onDisk.size > 0) documents.changed([path]);
    push();
  }

  return {
    connected() {
      isWaiting = false;
      send({ type: "open", path, ...(copy && { known: { epoch, version: copy.version } }) });
    },
    disconnected() {
      isWaiting = false;
    },
    receive(message) {
      switch (message.type) {
        case "give": {
          const doc = live.doc();
          const isShareable = doc.length <= MAX_SHARED_CHARS && !documents.documentAt(path)?.conflict;
          epoch = "";
          copy = isShareable ? createSharedTextCopy(doc, 0, clientId) : null;
          send({ type: "text", path, text: isShareable ? doc.toString() : null });
          return;
        }
        case "shared":
          epoch = message.epoch;
          isWaiting = false;
          if (message.text !== undefined) join(DocumentText.of(message.text.split("\n")), message.version);
          if (message.updates) accept(message.version, message.updates);
          return push();
        case "updates":
          if (message.epoch === epoch) accept(message.version, message.updates);
          return;
        case "claimed":
          return takeOver(message.etag.split(" ")[0] ?? "");
        case "unshared":
          return leave();
      }
    },
    [Symbol.dispose]() {
      clearTimeout(pushing);
      leave();
      listening[Symbol.dispose]();
      live.share(null);
    },
  };
}
