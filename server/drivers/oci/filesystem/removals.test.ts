import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createRemovals } from "./removals.ts";

describe("the removal of a folder", () => {
  let parent: string;
  let release: () => Promise<void>;
  const failures: string[] = [];
  const open = () => createRemovals({ parent, release: () => release(), onError: (name) => failures.push(name) });

  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), "berth-removals-"));
    mkdirSync(join(parent, "one/inner/deep"), { recursive: true });
    writeFileSync(join(parent, "one/file"), "");
    release = async () => {};
    failures.length = 0;
  });
  afterEach(() => rmSync(parent, { recursive: true }));

  test("takes it out of the way at once, and a second call waits until it is deleted", async () => {
    const released = Promise.withResolvers<void>();
    release = () => released.promise;
    const removals = open();
    await removals.begin("one");
    expect(existsSync(join(parent, "one"))).toBe(false);
    expect(readdirSync(parent)).toHaveLength(1);
    expect(removals.unfinished()).toEqual([]);
    const finished = removals.finish("one");
    released.resolve();
    await finished;
    expect(readdirSync(parent)).toEqual([]);
    await removals.finish("one");
  });

  test("is waited for by the disposal", async () => {
    const removals = open();
    await removals.begin("one");
    await removals[Symbol.asyncDispose]();
    expect(readdirSync(parent)).toEqual([]);
  });

  test("that has failed is reported and can be repeated", async () => {
    release = () => Promise.reject(new Error("busy"));
    const removals = open();
    await removals.begin("one");
    await expect.poll(() => removals.unfinished()).toEqual(["one"]);
    expect(failures).toEqual(["one"]);
    await expect(removals.finish("one")).rejects.toThrow("busy");
    release = async () => {};
    await removals.finish("one");
    expect(removals.unfinished()).toEqual([]);
  });

  test("that a dead process has begun is found and finished, and that of a living one is left to it", async () => {
    mkdirSync(join(parent, "two.removed-4194305"));
    mkdirSync(join(parent, `three.removed-${process.ppid}`));
    const removals = open();
    expect(removals.unfinished()).toEqual(["two"]);
    await removals.finish("two");
    expect(removals.unfinished()).toEqual([]);
    expect(readdirSync(parent).sort()).toEqual(["one", `three.removed-${process.ppid}`]);
  });
});
