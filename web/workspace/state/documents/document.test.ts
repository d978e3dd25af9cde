import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { mayAutosave, newDocument, updateDocument, type DocumentEvent, type TextDocument } from "./document.ts";

const opened = newDocument("a.txt", '"1"');
const after = (doc: TextDocument, ...events: DocumentEvent[]) => events.reduce((current, event) => updateDocument(current, event).doc, doc);
const edited = after(opened, { type: "edited", differs: true });

describe("a file that changes on disk", () => {
  test("replaces a text that is not edited", () => {
    expect(updateDocument(opened, { type: "readFromDisk", text: "theirs", etag: '"2"' })).toEqual({
      doc: { ...opened, etag: '"2"' },
      show: "theirs",
    });
  });

  test("is a conflict if the text is edited", () => {
    const { doc, show } = updateDocument(edited, { type: "readFromDisk", text: "theirs", etag: '"2"' });
    expect(show).toBeUndefined();
    expect(doc).toMatchObject({ edited: true, etag: '"1"', conflict: { kind: "changed", text: "theirs", etag: '"2"' } });
    expect(mayAutosave(doc)).toBe(false);
  });

  test("is overwritten by the next save if the person keeps their own text", () => {
    const doc = after(edited, { type: "readFromDisk", text: "theirs", etag: '"2"' }, { type: "keptMine" });
    expect(doc).toMatchObject({ edited: true, etag: '"2"', conflict: null });
  });

  test("replaces an edited text if the person takes the version on disk", () => {
    const conflicting = after(edited, { type: "readFromDisk", text: "theirs", etag: '"2"' });
    expect(updateDocument(conflicting, { type: "tookTheirs" })).toMatchObject({
      doc: { edited: false, etag: '"2"', conflict: null },
      show: "theirs",
    });
  });

  test("is ignored if it is the version of our own save", () => {
    expect(updateDocument(edited, { type: "readFromDisk", text: "mine", etag: '"1"' })).toEqual({ doc: edited });
  });
});

describe("a file that is deleted on disk", () => {
  test("stays open and can be written again", () => {
    const gone = after(opened, { type: "deletedOnDisk" });
    expect(gone.conflict).toEqual({ kind: "deleted" });
    expect(after(gone, { type: "keptMine" })).toMatchObject({ etag: null, edited: true, conflict: null });
  });

  test("has no conflict after the same version is restored", () => {
    expect(after(edited, { type: "deletedOnDisk" }, { type: "readFromDisk", text: "mine", etag: '"1"' })).toEqual(edited);
  });
});

describe("a save", () => {
  test("that finishes after more typing leaves the text edited", () => {
    const typedOn = after(edited, { type: "saveStarted" }, { type: "edited", differs: true });
    expect(after(typedOn, { type: "saved", etag: '"2"', revision: edited.revision })).toMatchObject({
      edited: true,
      etag: '"2"',
      saving: false,
    });
  });

  test("that fails keeps the reason until a save succeeds, and autosave may try again", () => {
    const failed = after(edited, { type: "saveStarted" }, { type: "saveFailed", message: "The disk is full" });
    expect(failed).toMatchObject({ edited: true, failure: "The disk is full" });
    expect(mayAutosave(failed)).toBe(true);
    const again = after(failed, { type: "saveStarted" });
    expect(again.failure).toBe("The disk is full");
    expect(after(again, { type: "saved", etag: '"2"', revision: again.revision }).failure).toBeNull();
  });
});

test("no sequence of events replaces an edited text unless the person takes the version on disk", () => {
  const anyEvent = fc.oneof(
    fc.record({ type: fc.constant("edited" as const), differs: fc.boolean() }),
    fc.record({ type: fc.constant("readFromDisk" as const), text: fc.string(), etag: fc.constantFrom('"1"', '"2"', '"3"') }),
    fc.record({ type: fc.constant("saved" as const), etag: fc.constantFrom('"1"', '"2"'), revision: fc.nat(5) }),
    fc.record({ type: fc.constantFrom("saveStarted" as const, "deletedOnDisk" as const, "keptMine" as const, "tookTheirs" as const) }),
    fc.record({ type: fc.constant("saveFailed" as const), message: fc.string() }),
  );
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 12 }), (events) => {
      let doc = opened;
      let replaced = false;
      for (const next of events) {
        const { doc: updated, show } = updateDocument(doc, next);
        replaced ||= show !== undefined && doc.edited && next.type !== "tookTheirs";
        doc = updated;
      }
      expect(replaced).toBe(false);
    }),
  );
});
