import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { TrashedFiles } from "@berth/contract/daemon.ts";
import { startTestDaemon, type TestDaemon } from "../testing/test-daemon.ts";
import { openTrashFolder } from "./trash-folder.ts";

let daemon: TestDaemon;
beforeAll(async () => void (daemon = await startTestDaemon()));
afterAll(() => daemon[Symbol.asyncDispose]());

const at = (...parts: string[]) => join(daemon.workspace, ...parts);
const write = (path: string, body: string) => daemon.fetch(`/files/content?path=${path}`, { method: "PUT", body });
const discard = (...paths: string[]) => daemon.fetch<TrashedFiles>("/files/trash", { method: "POST", body: { paths } });
const restore = (id: string) => daemon.fetch("/files/restore", { method: "POST", body: { id } });
const kept = () => readdirSync(join(daemon.home, ".berth/trash"));

test("a file, a folder and a link are deleted together and restored as they were", async () => {
  await write("one.txt", "1");
  await write("folder/deep/two.txt", "2");
  symlinkSync("deep", at("folder/link"));
  const before = statSync(at("folder/deep/two.txt")).mtimeMs;
  // A path below another one is part of it.
  const { status, json } = await discard("one.txt", "folder", "folder/deep");
  expect(status).toBe(201);
  expect(json.paths).toEqual(["one.txt", "folder"]);
  expect([existsSync(at("one.txt")), existsSync(at("folder"))]).toEqual([false, false]);
  expect((await restore(json.id)).status).toBe(200);
  expect([readFileSync(at("one.txt"), "utf8"), readFileSync(at("folder/deep/two.txt"), "utf8")]).toEqual(["1", "2"]);
  expect(readlinkSync(at("folder/link"))).toBe("deep");
  expect(statSync(at("folder/deep/two.txt")).mtimeMs).toBeCloseTo(before, -1);
  expect((await restore(json.id)).status).toBe(404);
  expect(kept()).toEqual([]);
});

test("restoring replaces nothing", async () => {
  await write("taken.txt", "old");
  const { json } = await discard("taken.txt");
  await write("taken.txt", "new");
  expect((await restore(json.id)).json.code).toBe("exists");
  expect(readFileSync(at("taken.txt"), "utf8")).toBe("new");
  rmSync(at("taken.txt"));
  expect((await restore(json.id)).status).toBe(200);
  expect(readFileSync(at("taken.txt"), "utf8")).toBe("old");
});

test("files that are too large for the trash, absent or outside the workspace are not deleted", async () => {
  await write("large", "");
  truncateSync(at("large"), 65 * 1024 * 1024);
  await write("small", "s");
  const before = kept();
  expect((await discard("small", "large")).json).toMatchObject({ code: "too_large" });
  expect((await discard("small", "absent")).json).toMatchObject({ code: "not_found" });
  expect((await discard("small", "../home")).json).toMatchObject({ code: "path_outside" });
  expect((await discard()).status).toBe(400);
  expect((await discard("")).status).toBe(400);
  expect([existsSync(at("small")), existsSync(at("large"))]).toEqual([true, true]);
  expect(kept()).toEqual(before);
  for (const id of ["0123456789abcdef", "../../workspace", ""]) expect((await restore(id)).status).toBeGreaterThanOrEqual(400);
});

test("the trash forgets old and unfinished items, and the oldest when it is full", async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-trash-"));
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    const trash = openTrashFolder(folder, { itemBytes: 100, itemFiles: 10, totalBytes: 100, ageMs: 1000 });
    const add = async (bytes: number) => {
      const item = await trash.add(bytes);
      await item.finish(["x"]);
      vi.advanceTimersByTime(1);
      return item.id;
    };
    const first = await add(40);
    const second = await add(40);
    const unfinished = await trash.add(10);
    const third = await add(40);
    expect(await trash.find(first)).toBeNull();
    expect(await trash.find(unfinished.id)).toBeNull();
    expect(await trash.find(second)).toMatchObject({ paths: ["x"] });
    vi.advanceTimersByTime(2000);
    expect(await trash.find(third)).toBeNull();
    const last = await add(1);
    expect(readdirSync(folder)).toEqual([last]);
  } finally {
    vi.useRealTimers();
    rmSync(folder, { recursive: true });
  }
});
