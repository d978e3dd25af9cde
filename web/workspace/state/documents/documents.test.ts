import { beforeEach, expect, test } from "vitest";
import { ApiError } from "../../connection/api.ts";
import { createDocuments } from "./documents.ts";
import type { Draft, Drafts } from "./drafts.ts";
import type { Buffer } from "./open-files.ts";

// A disk in memory that keeps the daemon's promises about versions.
function createDisk(first: Record<string, string>) {
  const files = new Map(Object.entries(first).map(([path, text]) => [path, { text, version: 1 }]));
  let version = 1;
  const etagOf = (at: number) => `"${at}"`;
  return {
    reachable: true,
    // Runs before the next write is looked at.
    beforeWrite: async () => {},
    put: (path: string, text: string) => void files.set(path, { text, version: ++version }),
    delete: (path: string) => void files.delete(path),
    text: (path: string) => files.get(path)?.text,
    async readFile(path: string) {
      if (!this.reachable) throw new ApiError(0, "offline", "cannot be reached");
      const file = files.get(path);
      if (!file) throw new ApiError(404, "not_found", "There is no such file");
      const bytes = new TextEncoder().encode(file.text);
      return { etag: etagOf(file.version), size: bytes.byteLength, bytes };
    },
    async writeFile(path: string, body: BodyInit, match?: string | null) {
      await this.beforeWrite();
      if (!this.reachable) throw new ApiError(0, "offline", "cannot be reached");
      const file = files.get(path);
      if (match === null ? file !== undefined : file === undefined || etagOf(file.version) !== match)
        throw new ApiError(412, "changed", "changed");
      this.put(path, body as string);
      return { path, size: 0, modifiedAtMs: 0, etag: etagOf(version) };
    },
  };
}

function createShelf(): Drafts & { kept: Map<string, Draft> } {
  const kept = new Map<string, Draft>();
  return {
    kept,
    get: async (path) => kept.get(path) ?? null,
    put: async (path, draft) => void kept.set(path, draft),
    remove: async (path) => void kept.delete(path),
  };
}

let disk: ReturnType<typeof createDisk>;
let shelf: ReturnType<typeof createShelf>;
beforeEach(() => {
  disk = createDisk({ "a.txt": "base" });
  shelf = createShelf();
});

// A workspace with one open file, and a hand that types into it.
async function openDocument({ autosave = false } = {}) {
  const documents = createDocuments({
    api: disk,
    drafts: shelf,
    notices: { error: () => {} },
    autosave: () => autosave,
    autosaveAfterMs: 5,
    draftAfterMs: 1,
  });
  await documents.open("a.txt");
  let text = documents.textOf("a.txt");
  const buffer: Buffer = { snapshot: () => ({ text, saved: () => {} }), show: (next) => void (text = next) };
  documents.attach("a.txt", buffer);
  return {
    documents,
    type: (next: string) => {
      text = next;
      documents.edited("a.txt", true);
    },
    shown: () => text,
    state: () => documents.documentAt("a.txt"),
  };
}

test("a change on disk that comes while saving is not missed", async () => {
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

test("a save that meets somebody else's change asks instead of overwriting", async () => {
  const { documents, type, state, shown } = await openDocument();
  type("mine");
  disk.put("a.txt", "theirs");
  expect(await documents.save("a.txt")).toBe(false);
  expect(state()?.conflict).toMatchObject({ kind: "changed", text: "theirs" });
  expect([disk.text("a.txt"), shown()]).toEqual(["theirs", "mine"]);
  await documents.keepMine("a.txt");
  expect(disk.text("a.txt")).toBe("mine");
});

test("what could not be saved while cut off is saved when the line is back", async () => {
  const { documents, type, state } = await openDocument({ autosave: true });
  disk.reachable = false;
  type("typed while away");
  await expect.poll(() => state()?.failure).not.toBeNull();
  expect(shelf.kept.get("a.txt")).toMatchObject({ text: "typed while away" });
  disk.reachable = true;
  await documents.resync();
  await expect.poll(() => disk.text("a.txt")).toBe("typed while away");
  expect(shelf.kept.size).toBe(0);
});

test("a save whose answer was lost on the way is recognised by its text", async () => {
  const { documents, type, state } = await openDocument();
  type("mine");
  disk.put("a.txt", "mine");
  await documents.resync();
  expect(state()).toMatchObject({ edited: false, conflict: null, etag: '"2"' });
});

test("a draft from last time is put back, and asks when the disk went on meanwhile", async () => {
  shelf.kept.set("a.txt", { text: "draft", etag: '"1"' });
  expect((await openDocument()).state()).toMatchObject({ edited: true, conflict: null });
  disk.put("a.txt", "theirs");
  const { state, shown } = await openDocument();
  expect(state()).toMatchObject({ edited: true, conflict: { kind: "changed", text: "theirs" } });
  expect(shown()).toBe("draft");
});

test("a draft of a file that was deleted meanwhile is still there", async () => {
  shelf.kept.set("a.txt", { text: "draft", etag: '"1"' });
  disk.delete("a.txt");
  const { documents, state } = await openDocument();
  expect(state()).toMatchObject({ edited: true, conflict: { kind: "deleted" } });
  await documents.save("a.txt");
  expect(disk.text("a.txt")).toBe("draft");
});

test("a file that is moved takes its unsaved text along, saved", async () => {
  const { documents, type } = await openDocument();
  type("mine");
  await documents.flush("a.txt");
  expect(disk.text("a.txt")).toBe("mine");
  disk.put("b.txt", "mine");
  disk.delete("a.txt");
  documents.moved("a.txt", "b.txt");
  expect(documents.documentAt("a.txt")).toBeNull();
  expect(documents.textOf("b.txt")).toBe("mine");
});
