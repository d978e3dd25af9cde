import { expect, test } from "vitest";
import { ApiError } from "../../connection/api.ts";
import { replaceInFiles, undoReplacement, type ReplaceDeps } from "./replace-in-files.ts";

const query = { text: "cat", replacement: "dog", matchCase: true, word: false, regex: false };
const found = (path: string, ...columns: number[]) => ({
  path,
  more: false,
  matches: columns.map((column) => ({ line: 1, column, length: 3, text: "" })),
});

// Files whose version is their text, and editors.
function workspaceWith(files: Record<string, string>, opened: string[] = []) {
  const edits = new Map(opened.map((path) => [path, files[path]!]));
  const api: ReplaceDeps["api"] = {
    async readFile(path) {
      const bytes = new TextEncoder().encode(files[path]);
      return { etag: files[path]!, size: bytes.length, bytes };
    },
    async writeFile(path, body, etag) {
      if (files[path] !== etag) throw new ApiError(412, "precondition_failed", "changed");
      files[path] = new TextDecoder().decode(body as Uint8Array);
      return { etag: files[path], path } as never;
    },
  };
  const documents = {
    bufferOf: (path: string) =>
      edits.has(path) ? { snapshot: () => ({ text: edits.get(path)! }), edit: (text: string) => void edits.set(path, text) } : undefined,
    documentAt: (path: string) => (edits.has(path) ? { edited: edits.get(path) !== files[path] } : null),
    save: async (path: string) => {
      files[path] = edits.get(path)!;
      return true;
    },
  } as unknown as ReplaceDeps["documents"];
  return { deps: { api, documents }, files, edits };
}

const ignore = () => {};

test("files change on disk, and open files in their editor; undo restores all of them", async () => {
  const { deps, files, edits } = workspaceWith({ "a.txt": "cat cat", "b.txt": "a cat" }, ["b.txt"]);
  const result = await replaceInFiles(deps, [found("a.txt", 1, 5), found("b.txt", 3)], query, ignore);
  expect(result).toMatchObject({ matches: 3, files: 2, problems: [] });
  expect(files).toEqual({ "a.txt": "dog dog", "b.txt": "a dog" });
  expect(edits.get("b.txt")).toBe("a dog");
  expect(await undoReplacement(deps, result.changes)).toEqual([]);
  expect(files).toEqual({ "a.txt": "cat cat", "b.txt": "a cat" });
});

test("a file that was changed since the replacement is not restored, and is named", async () => {
  const { deps, files, edits } = workspaceWith({ "a.txt": "cat", "b.txt": "cat", "c.txt": "cat" }, ["b.txt"]);
  const { changes } = await replaceInFiles(deps, [found("a.txt", 1), found("b.txt", 1), found("c.txt", 1)], query, ignore);
  files["a.txt"] = "dog and more";
  edits.set("b.txt", "dog and more");
  expect(await undoReplacement(deps, changes)).toEqual([
    "a.txt was changed since and stayed as it is.",
    "b.txt was changed since and stayed as it is.",
  ]);
  expect(files).toMatchObject({ "a.txt": "dog and more", "c.txt": "cat" });
  expect(edits.get("b.txt")).toBe("dog and more");
});

test("matches that have changed since the search are named, and the others are replaced", async () => {
  const { deps, files } = workspaceWith({ "a.txt": "cow cat", "b.txt": "cow" });
  const result = await replaceInFiles(deps, [found("a.txt", 1, 5), found("b.txt", 1)], query, ignore);
  expect(files).toEqual({ "a.txt": "cow dog", "b.txt": "cow" });
  expect(result).toMatchObject({ matches: 1, files: 1 });
  expect(result.problems).toEqual([
    "a.txt: one match has changed since the search and stayed as before.",
    "b.txt: one match has changed since the search and stayed as before.",
  ]);
});

test("an editor with unsaved text is changed but not saved", async () => {
  const { deps, files, edits } = workspaceWith({ "a.txt": "cat" }, ["a.txt"]);
  edits.set("a.txt", "cat unsaved");
  await replaceInFiles(deps, [found("a.txt", 1)], query, ignore);
  expect([files["a.txt"], edits.get("a.txt")]).toEqual(["cat", "dog unsaved"]);
});
