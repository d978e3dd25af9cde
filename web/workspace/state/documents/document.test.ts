import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { mayAutosave, openedDocument, step, type Document, type DocumentEvent } from "./document.ts";

const opened = openedDocument("a.txt", '"1"');
const after = (document: Document, ...events: DocumentEvent[]) =>
  events.reduce((current, event) => step(current, event).document, document);
const edited = after(opened, { type: "edited", differs: true });

describe("a file that changes on disk", () => {
  test("is followed while the text is clean", () => {
    expect(step(opened, { type: "disk", text: "theirs", etag: '"2"' })).toEqual({ document: { ...opened, etag: '"2"' }, show: "theirs" });
  });

  test("waits for a decision while the text is edited", () => {
    const { document, show } = step(edited, { type: "disk", text: "theirs", etag: '"2"' });
    expect(show).toBeUndefined();
    expect(document).toMatchObject({ edited: true, etag: '"1"', conflict: { kind: "changed", text: "theirs", etag: '"2"' } });
    expect(mayAutosave(document)).toBe(false);
  });

  test("is replaced by the next save when the person keeps theirs", () => {
    const document = after(edited, { type: "disk", text: "theirs", etag: '"2"' }, { type: "keptMine" });
    expect(document).toMatchObject({ edited: true, etag: '"2"', conflict: null });
  });

  test("replaces the text when the person takes it", () => {
    const conflicting = after(edited, { type: "disk", text: "theirs", etag: '"2"' });
    expect(step(conflicting, { type: "tookTheirs" })).toMatchObject({
      document: { edited: false, etag: '"2"', conflict: null },
      show: "theirs",
    });
  });

  test("is our own save coming back when the version is the one we know", () => {
    expect(step(edited, { type: "disk", text: "mine", etag: '"1"' })).toEqual({ document: edited });
  });
});

describe("a file that is deleted on disk", () => {
  test("stays open, and can be written again", () => {
    const gone = after(opened, { type: "deletedOnDisk" });
    expect(gone.conflict).toEqual({ kind: "deleted" });
    expect(after(gone, { type: "keptMine" })).toMatchObject({ etag: null, edited: true, conflict: null });
  });

  test("is whole again when it comes back as it was", () => {
    expect(after(edited, { type: "deletedOnDisk" }, { type: "disk", text: "mine", etag: '"1"' })).toEqual(edited);
  });
});

describe("a save", () => {
  test("that comes back after more typing leaves the text edited", () => {
    const typedOn = after(edited, { type: "saveStarted" }, { type: "edited", differs: true });
    expect(after(typedOn, { type: "saved", etag: '"2"', revision: edited.revision })).toMatchObject({
      edited: true,
      etag: '"2"',
      saving: false,
    });
  });

  test("that fails says why and stops saving by itself", () => {
    const failed = after(edited, { type: "saveStarted" }, { type: "saveFailed", message: "The disk is full" });
    expect(failed).toMatchObject({ edited: true, failure: "The disk is full" });
    expect(mayAutosave(failed)).toBe(false);
  });
});

test("whatever happens, an edited text is replaced only when the person takes theirs", () => {
  const event = fc.oneof(
    fc.record({ type: fc.constant("edited" as const), differs: fc.boolean() }),
    fc.record({ type: fc.constant("disk" as const), text: fc.string(), etag: fc.constantFrom('"1"', '"2"', '"3"') }),
    fc.record({ type: fc.constant("saved" as const), etag: fc.constantFrom('"1"', '"2"'), revision: fc.nat(5) }),
    fc.record({ type: fc.constantFrom("saveStarted" as const, "deletedOnDisk" as const, "keptMine" as const, "tookTheirs" as const) }),
    fc.record({ type: fc.constant("saveFailed" as const), message: fc.string() }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 12 }), (events) => {
      let document = opened;
      let replaced = false;
      for (const next of events) {
        const { document: then, show } = step(document, next);
        replaced ||= show !== undefined && document.edited && next.type !== "tookTheirs";
        document = then;
      }
      expect(replaced).toBe(false);
    }),
  );
});
