import { expect, test } from "vitest";
import type { NamedEntry } from "@berth/contract/daemon.ts";
import type { Api } from "../../connection/api.ts";
import { createFiles } from "./files.ts";

const file = (name: string, change: Partial<NamedEntry> = {}): NamedEntry => ({ name, type: "file", ...change });

// A folder whose lists arrive when the test calls `answers`, with the names that existed at the time of the request.
function openSlowly() {
  const names: string[] = [];
  const answers: (() => void)[] = [];
  const api = {
    async listFolder() {
      const entries = names.map((name) => file(name));
      const { promise, resolve } = Promise.withResolvers<void>();
      answers.push(resolve);
      await promise;
      return { entries, truncated: false };
    },
    async writeFile(path: string) {
      names.push(path);
    },
  } as unknown as Api;
  return { files: createFiles(api), names, answers };
}

// One folder whose listings are counted.
async function openFolder(entries: NamedEntry[]) {
  const listing = { entries, count: 0, ignored: [] as string[] };
  const api = {
    listFolder: async () => {
      listing.count++;
      return { path: "", entries: [...listing.entries], truncated: false };
    },
    listIgnored: async () => ({ names: listing.ignored }),
  } as unknown as Api;
  const files = createFiles(api);
  await files.ensure("");
  return { files, listing };
}

test("writing a known file does not list its folder again", async () => {
  const { files, listing } = await openFolder([file("a.txt")]);
  files.changed([{ path: "a.txt", kind: "changed", type: "file" }]);
  await files.ensure("");
  expect(listing.count).toBe(1);
});

test("a new file, a deleted file, and a file that became a folder list their folder again", async () => {
  const { files, listing } = await openFolder([file("a.txt")]);
  files.changed([{ path: "b.txt", kind: "changed", type: "file" }]);
  await expect.poll(() => listing.count).toBe(2);
  files.changed([{ path: "a.txt", kind: "deleted" }]);
  await expect.poll(() => listing.count).toBe(3);
  files.changed([{ path: "a.txt", kind: "changed", type: "folder" }]);
  await expect.poll(() => listing.count).toBe(4);
});

test("the same list does not render the tree again", async () => {
  const { files, listing } = await openFolder([file("a.txt")]);
  const before = files.store.getState().folders;
  listing.entries = [file("a.txt")];
  await files.reloadAll();
  expect(files.store.getState().folders).toBe(before);
  listing.entries = [file("a.txt"), file("b.txt")];
  await files.reloadAll();
  expect(files.entryAt("b.txt")).toMatchObject({ name: "b.txt" });
});

test("in a repository the ignored files are known, and follow a change of .gitignore", async () => {
  const { files, listing } = await openFolder([file(".git", { type: "folder" }), file(".gitignore"), file("a.log")]);
  listing.ignored = ["a.log"];
  files.changed([{ path: ".gitignore", kind: "changed", type: "file" }]);
  await expect.poll(() => files.store.getState().ignored[""]?.has("a.log")).toBe(true);
  expect(listing.count).toBe(1);
});

test("a new file is known when createFile returns, even if its folder was being read", async () => {
  const { files, answers } = openSlowly();
  void files.reload("");
  const created = files.createFile("new.txt");
  answers[0]!();
  await expect.poll(() => answers.length).toBe(2);
  answers[1]!();
  await created;
  expect(files.entryAt("new.txt")).toBeDefined();
});

test("a change during the first read of a folder lists it again", async () => {
  const { files, names, answers } = openSlowly();
  const opened = files.ensure("");
  names.push("new.txt");
  files.changed([{ path: "new.txt", kind: "changed", type: "file" }]);
  answers[0]!();
  await opened;
  await expect.poll(() => answers.length).toBe(2);
  answers[1]!();
  await expect.poll(() => files.entryAt("new.txt")).toBeDefined();
});
