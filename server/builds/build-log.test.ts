import { expect, test } from "vitest";
import { createBuildLog } from "./build-log.ts";

test("followers get what was written before them, and then the rest", () => {
  const log = createBuildLog();
  const [early, late] = [[] as string[], [] as string[]];
  log.follow((text) => early.push(text));
  log.add("one\n");
  const following = log.follow((text) => late.push(text));
  log.add("two\n");
  following[Symbol.dispose]();
  log.add("three\n");
  log.end();
  expect(early).toEqual(["one\n", "two\n", "three\n"]);
  expect(late).toEqual(["one\n", "two\n"]);
});

test("an endless log keeps its beginning and its last lines", () => {
  const log = createBuildLog();
  let text = "";
  log.follow((more) => (text += more));
  for (let line = 0; line < 100_000; line++) log.add(`${line} ${"x".repeat(1000)}\n`);
  log.add("no space left on device\n");
  expect(text.length).toBe(2 ** 20);
  log.end();
  expect(text.length).toBeLessThan(1.1 * 2 ** 20);
  expect(text.startsWith("0 xxx")).toBe(true);
  expect(text).toMatch(/\[9\d{4} KiB of the log are left out\]\n/);
  expect(text.endsWith("no space left on device\n")).toBe(true);
});
