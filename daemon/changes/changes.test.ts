import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Changes } from "@berth/contract/changes.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";

let daemon: TestDaemon;
beforeEach(async () => void (daemon = await startTestDaemon()));
afterEach(() => daemon[Symbol.asyncDispose]());

const at = (...parts: string[]) => join(daemon.workspace, ...parts);
const changes = async () => (await daemon.fetch<Changes>("/changes")).json;
const original = async (path: string) => await daemon.fetch(`/changes/original?path=${encodeURIComponent(path)}`);
const revert = async (path: string) => (await daemon.fetch("/changes/revert", { method: "POST", body: { path } })).status;
const startSession = () => daemon.fetch("/internal/start", { method: "POST", body: { env: {}, agent: null, autoStartAgent: false } });
const identity = ["-c", "user.name=t", "-c", "user.email=t@example.test"];
const git = (folder: string, ...args: string[]) => execFileSync("git", [...identity, ...args], { cwd: folder, stdio: "ignore" });

function edit(folder: string): void {
  writeFileSync(join(folder, "kept.txt"), "one\nTWO\nthree\n");
  rmSync(join(folder, "gone.txt"));
  writeFileSync(join(folder, "new [x].txt"), "new\n");
}

function fill(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of ["kept.txt", "gone.txt", "same.txt"]) writeFileSync(join(folder, name), "one\ntwo\n");
}

describe("changes", () => {
  test.each(["", "project"])("in a git repository at '%s' are the difference to HEAD and can be reverted", async (folder) => {
    fill(at(folder));
    git(at(folder), "init", "-q", "-b", "main");
    git(at(folder), "add", ".");
    git(at(folder), "commit", "-qm", "first");
    edit(at(folder));
    writeFileSync(at(folder, ".gitignore"), "ignored\n");
    writeFileSync(at(folder, "ignored"), "");
    writeFileSync(at(folder, "staged"), "");
    expect((await daemon.fetch(`/files/ignored?path=${folder}`)).json).toEqual({ names: ["ignored"] });
    git(at(folder), "add", "staged");
    const inside = (name: string) => (folder === "" ? name : `${folder}/${name}`);

    expect(await changes()).toEqual({
      base: "git",
      baseName: "HEAD (main)",
      truncated: false,
      changes: [
        { path: inside(".gitignore"), kind: "added" },
        { path: inside("gone.txt"), kind: "deleted", linesAdded: 0, linesDeleted: 2 },
        { path: inside("kept.txt"), kind: "modified", linesAdded: 2, linesDeleted: 1 },
        { path: inside("new [x].txt"), kind: "added" },
        { path: inside("staged"), kind: "added", linesAdded: 0, linesDeleted: 0 },
      ],
    });
    expect((await original(inside("kept.txt"))).text).toBe("one\ntwo\n");
    expect((await original(inside("gone.txt"))).text).toBe("one\ntwo\n");
    expect((await original(inside("new [x].txt"))).status).toBe(404);
    for (const { path } of (await changes()).changes) expect(await revert(path)).toBe(204);
    expect((await changes()).changes).toEqual([{ path: inside("ignored"), kind: "added" }]);
    expect(readFileSync(at(folder, "gone.txt"), "utf8")).toBe("one\ntwo\n");
    expect(existsSync(at(folder, "staged"))).toBe(false);
    expect(await revert(inside("kept.txt"))).toBe(404);
  });

  test("before the first commit are all files", async () => {
    fill(at());
    git(at(), "init", "-q");
    git(at(), "add", "same.txt");
    expect((await changes()).changes.map(({ path, kind }: { path: string; kind: string }) => `${kind} ${path}`)).toEqual([
      "added gone.txt",
      "added kept.txt",
      "added same.txt",
    ]);
  });

  test("without git are the difference to the session's start, even after a restart", async () => {
    fill(at("docs"));
    await startSession();
    expect(await changes()).toEqual({ base: "start", baseName: "the session's start", changes: [], truncated: false });
    edit(at("docs"));
    await daemon.stop();
    await daemon.restart();
    await startSession();
    expect((await changes()).changes).toEqual([
      { path: "docs/gone.txt", kind: "deleted" },
      { path: "docs/kept.txt", kind: "modified" },
      { path: "docs/new [x].txt", kind: "added" },
    ]);
    expect((await original("docs/kept.txt")).text).toBe("one\ntwo\n");
    for (const { path } of (await changes()).changes) expect(await revert(path)).toBe(204);
    expect((await changes()).changes).toEqual([]);
    expect(readFileSync(at("docs/gone.txt"), "utf8")).toBe("one\ntwo\n");
  });

  test("without git ignore nothing", async () => {
    writeFileSync(at(".gitignore"), "a\n");
    writeFileSync(at("a"), "");
    expect((await daemon.fetch("/files/ignored?path=")).json).toEqual({ names: [] });
    expect((await daemon.fetch("/files/ignored?path=../")).status).toBe(403);
  });

  test("cannot be read or reverted outside the workspace", async () => {
    await startSession();
    expect((await original("../home/.bashrc")).status).toBe(403);
    expect(await revert("/etc/passwd")).toBe(403);
  });
});
