import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { openWorkspace } from "../../files/workspace.ts";
import { createEnvironment } from "../../processes/environment.ts";
import { createCheckpoints, type CheckpointLimits } from "./checkpoints.ts";

const LIMITS: CheckpointLimits = { files: 100, fileBytes: 1000, totalBytes: 100_000, checkpoints: 3, storeBytes: 100_000 };

async function setUp(resources: AsyncDisposableStack, limits: Partial<CheckpointLimits> = {}) {
  const { path: home } = resources.use(await mkdtempDisposable(join(tmpdir(), "berth-checkpoints-")));
  const root = join(home, "workspace");
  const workspace = await openWorkspace(root);
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

test("a restore touches no file that it cannot bring back: large, ignored, linked or generated", async () => {
  await using resources = new AsyncDisposableStack();
  const { checkpoints, write, read, at } = await setUp(resources);
  execFileSync("git", ["init", "--quiet", at(".")]);
  write(".gitignore", ".env\nbuild/\n");
  write(".env", "SECRET=1");
  write("large.bin", "x".repeat(2000));
  write("node_modules/package/index.js", "1");
  write("link", "will be a link");
  const first = await checkpoints.take();
  expect(first.note).toBe("Not included: 1 large file.");

  // The new rules ignore nothing, so the ignored file now looks like a new one.
  write(".gitignore", "");
  write(".env", "SECRET=2");
  write("build/output.js", "built");
  write("large.bin", "y".repeat(2000));
  write("larger.bin", "z".repeat(3000));
  write("node_modules/package/index.js", "2");
  rmSync(at("link"));
  symlinkSync(".env", at("link"));
  const { written, removed, left } = await checkpoints.restore(first.id!);
  expect([written, removed]).toEqual([[".gitignore"], ["build/output.js"]]);
  expect(left.toSorted()).toEqual(["large.bin", "larger.bin", "link"]);
  expect([read(".env"), read("larger.bin"), read("node_modules/package/index.js")]).toEqual(["SECRET=2", "z".repeat(3000), "2"]);
  expect(read("link")).toBe("SECRET=2");
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
