import { collab, getSyncedVersion, receiveUpdates, sendableUpdates } from "@codemirror/collab";
import { ChangeSet, EditorState, Text as DocumentText, type ChangeSpec } from "@codemirror/state";
import { diff } from "@codemirror/merge";
import { MAX_UPDATES_PER_PUSH, type ChangeJson, type TextUpdate } from "@berth/contract/workspace/together.ts";

// This page's copy of a shared text: the text that the daemon has confirmed, and the changes of this page on top of it. Without a screen,
// so that it works for a text in several editors, and in tests.
export interface SharedTextCopy {
  readonly version: number;
  // The text that all pages have had at some time; the latest one is the last.
  readonly confirmed: readonly DocumentText[];
  readonly doc: DocumentText;
  // This page has changed the text.
  edited(changes: ChangeSet): void;
  // Returns how the updates change the text here. null: updates before these are missing.
  receive(version: number, updates: readonly TextUpdate[]): ChangeSet | null;
  // The changes that the daemon has not confirmed.
  pending(): TextUpdate[];
}

const MAX_CONFIRMED = 200;

export function createSharedTextCopy(start: DocumentText, startVersion: number, clientId: string): SharedTextCopy {
  let state = EditorState.create({ doc: start, extensions: collab({ startVersion, clientID: clientId }) });
  let confirmed = [start];

  return {
    get version() {
      return getSyncedVersion(state);
    },
    get confirmed() {
      return confirmed;
    },
    get doc() {
      return state.doc;
    },
    edited(changes) {
      state = state.update({ changes }).state;
    },
    receive(version, updates) {
      const known = getSyncedVersion(state) - version;
      if (known < 0) return null;
      const news = updates.slice(known).map(({ clientId: clientID, changes }) => ({ clientID, changes: ChangeSet.fromJSON(changes) }));
      for (const { changes } of news) confirmed = [...confirmed.slice(-MAX_CONFIRMED), changes.apply(confirmed.at(-1) ?? start)];
      const received = receiveUpdates(state, news);
      state = received.state;
      return received.changes;
    },
    pending: () =>
      sendableUpdates(state)
        .slice(0, MAX_UPDATES_PER_PUSH)
        .map(({ clientID, changes }) => ({ clientId: clientID, changes: changes.toJSON() as ChangeJson })),
  };
}

// The changes that turn one text into another.
export function changesBetween(from: DocumentText, to: DocumentText): ChangeSet {
  const [before, after] = [from.toString(), to.toString()];
  const parts: ChangeSpec[] = diff(before, after, { scanLimit: 500, timeout: 200 }).map(({ fromA, toA, fromB, toB }) => ({
    from: fromA,
    to: toA,
    insert: DocumentText.of(after.slice(fromB, toB).split("\n")),
  }));
  return ChangeSet.of(parts, from.length);
}

// The changes from `base` to `mine`, as changes of `theirs`: both sides' changes are kept.
export function rebase(base: DocumentText, mine: DocumentText, theirs: DocumentText): ChangeSet {
  return changesBetween(base, mine).map(changesBetween(base, theirs), true);
}
