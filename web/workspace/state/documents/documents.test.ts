import { beforeEach, expect, test } from "vitest";
import { ApiError } from "../../connection/api.ts";
import { createBackoff } from "../../connection/backoff.ts";
import { createDocuments } from "./documents.ts";
import type { Draft, Drafts } from "./drafts.ts";
import type { EditorBuffer } from "./open-files.ts";

// An in-memory disk with the version checks of the daemon.
function createDisk(first: Record<string, string>) {
  const toBytes = (text: string) => new TextEncoder().encode(text);
  const files = new Map(Object.entries(first).map(([path, text]) => [path, { bytes: toBytes(text), version: 1 }]));
  let version = 1;
  const etagOf = (at: number) => `"${at}"`;
  return {
    reachable: true,
    // Runs before the version check of a write.
    beforeWrite: async () => {},
    put: (path: string, text: string) => void files.set(path, { bytes: toBytes(text), version: ++version }),
    putBytes: (path: string, bytes: Uint8Array<ArrayBuffer>) => void files.set(path, { bytes, version: ++version }),
    bytes: (path: string) => files.get(path)?.bytes,
    delete: (path: string) => void files.delete(path),
    text: (path: string) => (files.has(path) ? new TextDecoder().decode(files.get(path)?.bytes) : undefined),
    async readFile(path: string) {
      if (!this.reachable) throw new ApiError(0, "offline", "cannot be reached");
      const file = files.get(path);
      if (!file) throw new ApiError(404, "not_found", "There is no such file");
      return { etag: etagOf(file.version), size: file.bytes.byteLength, bytes: file.bytes };
    },
    async writeFile(path: string, body: BodyInit, match?: string | null) {
      await this.beforeWrite();
      if (!this.reachable) throw new ApiError(0, "offline", "cannot be reached");
      const file = files.get(path);
      if (match === null ? file !== undefined : file === undefined || etagOf(file.version) !== match)
        throw new ApiError(412, "changed", "changed");
      this.putBytes(path, body as Uint8Array<ArrayBuffer>);
      return { path, size: 0, modifiedAtMs: 0, etag: etagOf(version) };
    },
  };
}

function createDraftStore(): Drafts & { kept: Map<string, Draft> } {
  const kept = new Map<string, Draft>();
  return {
    kept,
    get: async (path) => kept.get(path) ?? null,
    put: async (path, draft) => void kept.set(path, draft),
    remove: async (path) => void kept.delete(path),
  };
}

let disk: ReturnType<typeof createDisk>;
let drafts: ReturnType<typeof createDraftStore>;
beforeEach(() => {
  disk = createDisk({ "a.txt": "base" });
  drafts = createDraftStore();
});

// Opens one file and returns functions that type into it and read its state.
async function openDocument(settings = { autosave: false }) {
  const notices: string[] = [];
  const dismissed: number[] = [];
  const documents = createDocuments({
    api: disk,
    drafts,
    notices: { error: (text) => notices.push(text), dismiss: (id) => void dismissed.push(id) },
    autosave: () => settings.autosave,
    autosaveAfterMs: () => 5,
    draftAfterMs: 1,
    retryBackoff: () => createBackoff({ firstMs: 20, maxMs: 40 }),
  });
  await documents.open("a.txt");
  let text = documents.textOf("a.txt");
  const buffer: EditorBuffer = {
    snapshot: () => ({ text, markSaved: () => {} }),
    show: (next) => void (text = next),
    replace: () => {},
    edit: (next) => void (text = next),
    renamed: () => {},
  };
  documents.attach("a.txt", buffer);
  return {
    documents,
    buffer,
    notices,
    dismissed,
    type: (next: string) => {
      text = next;
      documents.edited("a.txt", { differs: true });
    },
    shown: () => text,
    state: () => documents.documentAt("a.txt"),
  };
}

test("a change on disk during a save is not missed", async () => {
  const { documents, type, state } = await openDocument();
  type("mine");
  disk.beforeWrite = async () => documents.changed(["a.txt"]);
  const saving = documents.save("a.txt");
  await saving;
  disk.put("a.txt", "theirs, right after");
  await expect.poll(state).toMatchObject({ saving: false });
  documents.changed(["a.txt"]);
  await expect.poll(() => documents.textOf("a.txt")).toBe("theirs, right after");
});

test("a text that was read before a save does not replace what was saved", async () => {
  const { documents, type, shown, state } = await openDocument();
  const readFile = disk.readFile.bind(disk);
  const late = Promise.withResolvers<void>();
  disk.readFile = async (path) => {
    disk.readFile = readFile;
    const before = await readFile(path);
    await late.promise;
    return before;
  };
  const reading = documents.resync();
  type("mine");
  await documents.save("a.txt");
  late.resolve();
  await reading;
  expect(shown()).toBe("mine");
  expect(state()).toMatchObject({ edited: false, conflict: null });
});

test("a change on disk while the file is being loaded is not missed", async () => {
  const { documents } = await openDocument();
  documents.close("a.txt");
  const readFile = disk.readFile.bind(disk);
  disk.readFile = async (path) => {
    disk.readFile = readFile;
    const before = await readFile(path);
    disk.put("a.txt", "newer");
    documents.changed(["a.txt"]);
    return before;
  };
  await documents.open("a.txt");
  expect(documents.textOf("a.txt")).toBe("newer");
});

test("a save over someone else's change is a conflict and overwrites nothing", async () => {
  const { documents, type, state, shown } = await openDocument();
  type("mine");
  disk.put("a.txt", "theirs");
  expect(await documents.save("a.txt")).toBe(false);
  expect(state()?.conflict).toMatchObject({ kind: "changed", text: "theirs" });
  expect([disk.text("a.txt"), shown()]).toEqual(["theirs", "mine"]);
  await documents.keepMine("a.txt");
  expect(disk.text("a.txt")).toBe("mine");
});

test("a save that failed while disconnected is retried after the reconnect", async () => {
  const { documents, type, state } = await openDocument({ autosave: true });
  disk.reachable = false;
  type("typed while offline");
  await expect.poll(() => state()?.failure).not.toBeNull();
  expect(drafts.kept.get("a.txt")).toMatchObject({ text: "typed while offline" });
  disk.reachable = true;
  await documents.resync();
  await expect.poll(() => disk.text("a.txt")).toBe("typed while offline");
  expect(drafts.kept.size).toBe(0);
});

test("autosave tries again after a failure, tells about it once, and takes that back when the file is saved", async () => {
  const { type, state, notices, dismissed } = await openDocument({ autosave: true });
  let failures = 0;
  disk.beforeWrite = async () => {
    if (++failures <= 3) throw new ApiError(507, "disk_full", "full");
  };
  type("typed onto a full disk");
  await expect.poll(() => state()?.failure).toContain("full");
  expect(dismissed).toEqual([]);
  type("typed onto a full disk, and on");
  await expect.poll(() => disk.text("a.txt")).toBe("typed onto a full disk, and on");
  expect(state()).toMatchObject({ edited: false, failure: null });
  expect(notices).toHaveLength(1);
  expect(dismissed).toEqual([1]);
});

test("a file that is closed, or has its saved text again, leaves no notice about its failed save", async () => {
  const { documents, type, notices, dismissed } = await openDocument();
  disk.beforeWrite = () => Promise.reject(new ApiError(507, "disk_full", "full"));
  for (const resolve of [() => documents.edited("a.txt", { differs: false }), () => documents.close("a.txt")]) {
    type("typed onto a full disk");
    await documents.save("a.txt");
    const shown = notices.length;
    resolve();
    expect(dismissed).toHaveLength(shown);
  }
  expect(notices).toHaveLength(2);
});

test("autosave does not try again after it was turned off", async () => {
  const settings = { autosave: true };
  const { documents, type, state } = await openDocument(settings);
  disk.reachable = false;
  type("mine");
  await expect.poll(() => state()?.failure).not.toBeNull();
  settings.autosave = false;
  disk.reachable = true;
  await documents.resync();
  expect(disk.text("a.txt")).toBe("base");
  settings.autosave = true;
  documents.autosaveAll();
  await expect.poll(() => disk.text("a.txt")).toBe("mine");
});

test("a save whose response was lost is recognised by its text", async () => {
  const { documents, type, state } = await openDocument();
  type("mine");
  disk.put("a.txt", "mine");
  await documents.resync();
  expect(state()).toMatchObject({ edited: false, conflict: null, etag: '"2"' });
});

test("a draft is restored, and is a conflict if the file has changed since", async () => {
  drafts.kept.set("a.txt", { text: "draft", etag: '"1"' });
  expect((await openDocument()).state()).toMatchObject({ edited: true, conflict: null });
  disk.put("a.txt", "theirs");
  const { state, shown } = await openDocument();
  expect(state()).toMatchObject({ edited: true, conflict: { kind: "changed", text: "theirs" } });
  expect(shown()).toBe("draft");
});

test("a restored draft is saved by autosave, unless the file has changed since", async () => {
  drafts.kept.set("a.txt", { text: "draft", etag: '"1"' });
  await openDocument({ autosave: true });
  await expect.poll(() => disk.text("a.txt")).toBe("draft");
  drafts.kept.set("a.txt", { text: "older draft", etag: '"1"' });
  const { state } = await openDocument({ autosave: true });
  expect(state()?.conflict).toMatchObject({ kind: "changed", text: "draft" });
});

test("a draft survives the deletion of its file", async () => {
  drafts.kept.set("a.txt", { text: "draft", etag: '"1"' });
  disk.delete("a.txt");
  const { documents, state } = await openDocument();
  expect(state()).toMatchObject({ edited: true, conflict: { kind: "deleted" } });
  await documents.save("a.txt");
  expect(disk.text("a.txt")).toBe("draft");
});

test("a file is saved before it moves, and its text moves with it", async () => {
  const { documents, type, buffer } = await openDocument();
  type("mine");
  await documents.flush("a.txt");
  expect(disk.text("a.txt")).toBe("mine");
  disk.put("b.txt", "mine");
  disk.delete("a.txt");
  documents.moved("a.txt", "b.txt");
  expect(documents.documentAt("a.txt")).toBeNull();
  expect(documents.textOf("b.txt")).toBe("mine");
  // With its buffer, the text keeps its history.
  expect(documents.bufferOf("b.txt")).toBe(buffer);
});

test("releasing a file that is still loading keeps its draft and does not open it", async () => {
  drafts.kept.set("a.txt", { text: "draft", etag: '"1"' });
  const documents = createDocuments({ api: disk, drafts, notices: { error: () => 0, dismiss: () => {} }, autosave: () => false });
  const opening = documents.open("a.txt");
  documents.release("a.txt");
  await opening;
  expect(documents.store.getState().files).toEqual({});
  expect(drafts.kept.has("a.txt")).toBe(true);
  await documents.open("a.txt");
  documents.release("a.txt");
  expect(documents.documentAt("a.txt")).toMatchObject({ edited: true });
});

test("a file is saved in the encoding it has on disk, until it is converted", async () => {
  disk.putBytes("a.txt", Uint8Array.of(0x63, 0x61, 0x66, 0xe9));
  const { documents, type, state, shown } = await openDocument();
  expect(shown()).toBe("café");
  type("cafés");
  await documents.save("a.txt");
  expect(disk.bytes("a.txt")).toEqual(Uint8Array.of(0x63, 0x61, 0x66, 0xe9, 0x73));
  type("café →");
  expect(await documents.save("a.txt")).toBe(false);
  expect(state()?.failure).toContain("cannot be written in Windows-1252");
  await documents.convert("a.txt", "utf-8");
  expect(disk.text("a.txt")).toBe("café →");
  expect(state()).toMatchObject({ edited: false, failure: null });
});

test("a version that another person saved of a shared text is no conflict, and the rest is still unsaved", async () => {
  const { documents, buffer, type, shown, state } = await openDocument();
  Object.assign(buffer, {
    recognize: (text: string) => (text === "theirs" ? "wait" : "ours"),
    savedAs: (text: string) => ({ differs: text !== shown() }),
  } satisfies Partial<EditorBuffer>);
  type("base and more");
  disk.put("a.txt", "base and");
  documents.changed(["a.txt"]);
  await expect.poll(state).toMatchObject({ edited: true, conflict: null, etag: (await disk.readFile("a.txt")).etag });
  expect(shown()).toBe("base and more");
  expect(await documents.save("a.txt")).toBe(true);
  expect(disk.text("a.txt")).toBe("base and more");

  // One of the pages turns it into a change of the text.
  disk.put("a.txt", "theirs");
  documents.changed(["a.txt"]);
  await documents.resync();
  expect([shown(), state()?.conflict]).toEqual(["base and more", null]);
});
