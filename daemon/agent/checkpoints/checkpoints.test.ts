import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { openWorkspaceFolder } from "../../files/workspace-folder.ts";
import { createEnvironment } from "../../programs/environment.ts";
import { createCheckpoints, type CheckpointLimits } from "./checkpoints.ts";

const LIMITS: CheckpointLimits = { files: 100, fileBytes: 1000, totalBytes: 100_000, checkpoints: 3, storeBytes: 100_000 };

async function setUp(resources: AsyncDisposableStack, limits: Partial<CheckpointLimits> = {}) {
  const { path: home } = resources.use(await mkdtempDisposable(join(tmpdir(), "berth-checkpoints-")));
  const root = join(home, "workspace");
  const workspace = openWorkspaceFolder(root);
  const environment = createEnvironment({ base: process.env, workspace: root, home, proxyUrl: () => undefined, setupEnv: () => ({}) });
  const folder = join(home, "checkpoints");
  const at = (path: string) => join(root, path);
  return {
    folder,
    at,
    checkpoints: createCheckpoints({ workspace, environment, folder, limits: { ...LIMITS, ...limits } }),
    write(path: string, text: string) {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), text);
    },
    read: (path: string) => (existsSync(at(path)) ? readFileSync(at(path), "utf8") : null),
  };
}

test("a restore writes changed and deleted files, removes new ones, and can itself be restored", async () => {
  await using resources = new AsyncDisposableStack();
  const { checkpoints, write, read, at } = await setUp(resources);
  write("a.ts", "old");
  write("src/deep/b.sh", "echo");
  chmodSync(at("src/deep/b.sh"), 0o755);
  write("same.txt", "same");
  const first = await checkpoints.take();
  expect(first.note).toBeUndefined();
  // Nothing has changed, so it is the same one.
  expect((await checkpoints.take()).id).toBe(first.id);

  write("a.ts", "new");
  rmSync(at("src"), { recursive: true });
  // A file in the place of a folder, and a folder in the place of none.
  write("src", "a file");
  write("made/by/agent.txt", "made");
  const untouched = statSync(at("same.txt")).mtimeMs;
  const { written, removed, left, before } = await checkpoints.restore(first.id!);
  expect([written, removed, left]).toEqual([["a.ts", "src/deep/b.sh"], ["made/by/agent.txt", "src"], []]);
  expect([read("a.ts"), read("src/deep/b.sh"), read("made/by/agent.txt")]).toEqual(["old", "echo", null]);
  expect(statSync(at("src/deep/b.sh")).mode & 0o777).toBe(0o755);
  expect(statSync(at("same.txt")).mtimeMs).toBe(untouched);
  expect(existsSync(at("made"))).toBe(false);

  await checkpoints.restore(before.id!);
  expect([read("a.ts"), read("src"), read("made/by/agent.txt")]).toEqual(["new", "a file", "made"]);
});

test("a restore touches no file that it cannot bring back: large, ignored or generated", async () => {
  await using resources = new AsyncDisposableStack();
  const { checkpoints, write, read, at } = await setUp(resources);
  execFileSync("git", ["init", "--quiet", at(".")]);
  write(".gitignore", ".env\nbuild/\n");
  write(".env", "SECRET=1");
  write("large.bin", "x".repeat(2000));
  write("node_modules/package/index.js", "1");
  const first = await checkpoints.take();
  expect(first.note).toBe("Not included: 1 large or unreadable file.");

  // The new rules ignore nothing, so the ignored file now looks like a new one.
  write(".gitignore", "");
  write(".env", "SECRET=2");
  write("build/output.js", "built");
  write("large.bin", "y".repeat(2000));
  write("larger.bin", "z".repeat(3000));
  write("node_modules/package/index.js", "2");
  const { written, removed, left } = await checkpoints.restore(first.id!);
  expect([written, removed]).toEqual([[".gitignore"], ["build/output.js"]]);
  expect(left.toSorted()).toEqual(["large.bin", "larger.bin"]);
  expect([read(".env"), read("larger.bin"), read("node_modules/package/index.js")]).toEqual(["SECRET=2", "z".repeat(3000), "2"]);
});

test("a restore brings back links, setuid, empty folders and the permissions of folders, also in a folder that is read-only", async () => {
  await using resources = new AsyncDisposableStack();
  const { checkpoints, write, at } = await setUp(resources);
  const describe = (path: string) => {
    const stats = lstatSync(at(path), { throwIfNoEntry: false });
    if (!stats) return null;
    if (stats.isSymbolicLink()) return `link to ${readlinkSync(at(path))}`;
    return `${(stats.mode & 0o7777).toString(8)} ${stats.isDirectory() ? "folder" : readFileSync(at(path), "latin1")}`;
  };
  const paths = [
    "tool",
    "locked",
    "locked/a",
    "empty",
    "to-file",
    "to-link",
    "to-folder",
    "dangling",
    "folder",
    "folder/x",
    "made",
    "new-link",
  ];
  const state = () => Object.fromEntries(paths.map((path) => [path, describe(path)]));
  write("tool", "run");
  chmodSync(at("tool"), 0o4755);
  write("locked/a", "\xe9");
  chmodSync(at("locked/a"), 0o444);
  chmodSync(at("locked"), 0o2555);
  mkdirSync(at("empty"));
  chmodSync(at("empty"), 0o700);
  symlinkSync("tool", at("to-file"));
  write("to-link", "a file");
  write("folder/x", "x");
  symlinkSync("folder", at("to-folder"));
  symlinkSync("nowhere", at("dangling"));
  const before = state();
  const { id } = await checkpoints.take();

  write("tool", "changed");
  chmodSync(at("tool"), 0o755);
  chmodSync(at("locked"), 0o755);
  rmSync(at("locked/a"));
  write("locked/a", "a");
  chmodSync(at("locked"), 0o555);
  rmSync(at("empty"), { recursive: true });
  for (const path of ["to-file", "to-link", "to-folder", "dangling"]) rmSync(at(path));
  write("to-file", "was a link");
  symlinkSync("tool", at("to-link"));
  write("to-folder/deep/file", "was a link");
  rmSync(at("folder"), { recursive: true });
  symlinkSync("locked", at("folder"));
  mkdirSync(at("made"));
  symlinkSync("/etc/passwd", at("new-link"));
  const after = state();

  const restored = await checkpoints.restore(id!);
  expect(restored.left).toEqual([]);
  expect(state()).toEqual(before);
  await checkpoints.restore(restored.before.id!);
  expect(state()).toEqual(after);
});

test("two writes within one tick of the file system's clock are told apart", async () => {
  await using resources = new AsyncDisposableStack();
  const { checkpoints, write, read } = await setUp(resources);
  for (let round = 0; round < 5; round++) {
    write("a", "1");
    const { id } = await checkpoints.take();
    write("a", "2");
    await checkpoints.restore(id!);
    expect(read("a")).toBe("1");
  }
});

test("a workspace with too many files has no checkpoint, and the note says so", async () => {
  await using resources = new AsyncDisposableStack();
  const { checkpoints, write } = await setUp(resources, { files: 2 });
  write("1", "");
  write("2", "");
  const { id } = await checkpoints.take();
  expect(id).not.toBeNull();
  write("3", "");
  expect(await checkpoints.take()).toEqual({ id: null, note: "There is no checkpoint: the workspace has more than 2 files." });
  // Without a checkpoint of the present files, nothing is restored.
  await expect(checkpoints.restore(id!)).rejects.toThrow("more than 2 files");
});

test("the oldest checkpoints are removed with their contents, but not the one that is restored", async () => {
  await using resources = new AsyncDisposableStack();
  const { checkpoints, write, read, folder } = await setUp(resources);
  const ids: string[] = [];
  for (const text of ["1", "2", "3", "4"]) {
    write("a", text);
    ids.push((await checkpoints.take()).id!);
  }
  const contents = () => readdirSync(join(folder, "objects"), { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  expect(contents()).toHaveLength(3);
  await expect(checkpoints.restore(ids[0]!)).rejects.toThrow("The last 3 are kept");
  write("a", "5");
  await checkpoints.restore(ids[1]!);
  expect(read("a")).toBe("2");
});

test("if the files are too large together, the largest are left out, wherever they are", async () => {
  await using resources = new AsyncDisposableStack();
  const { checkpoints, write, read } = await setUp(resources, { totalBytes: 1000 });
  write("assets/picture", "p".repeat(900));
  write("src/main.ts", "old".repeat(50));
  const { id, note } = await checkpoints.take();
  expect(note).toBe("Not included: 1 large or unreadable file.");
  write("src/main.ts", "new");
  await checkpoints.restore(id!);
  expect(read("src/main.ts")).toBe("old".repeat(50));
});
