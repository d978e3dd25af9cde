import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { diskMappings, hostIdOf, rangeMappings } from "./id-mappings.ts";
import { createIdRanges } from "./id-ranges.ts";

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "berth-ranges-"));
});
afterEach(() => rmSync(parent, { recursive: true }));

const folderIn = (installation: string, name: string) => {
  const folder = join(parent, installation, name);
  mkdirSync(folder, { recursive: true });
  return folder;
};
const rangesOf = (installation: string) => createIdRanges(join(parent, installation), join(parent, "claims"));

test("a sandbox keeps its range, and two installations on one machine never share one", () => {
  const [first, second] = [rangesOf("first"), rangesOf("second")];
  const given = Array.from({ length: 40 }, (_, i) =>
    i % 2 === 0 ? first.of(folderIn("first", `${i}`)) : second.of(folderIn("second", `${i}`)),
  );
  expect(new Set(given).size).toBe(40);
  expect(given.every((id) => id % 0x10000 === 0 && id >= 0x78000000 && id < 0x80000000)).toBe(true);
  expect(rangesOf("first").of(folderIn("first", "0"))).toBe(given[0]);
});

test("the ranges of removed sandboxes, and they alone, are given again", () => {
  const ranges = rangesOf("first");
  // A pair that an older version has given to a sandbox of this installation, and the claims of another one.
  symlinkSync(String(0x78000000), join(folderIn("first", "older"), "user-id"));
  const other = folderIn("second", "all");
  mkdirSync(join(parent, "claims"));
  for (let i = 2; i < 2048; i++) symlinkSync(other, join(parent, "claims", `${i}`));
  expect(ranges.of(folderIn("first", "one"))).toBe(0x78010000);
  expect(() => ranges.of(folderIn("first", "two"))).toThrow(expect.objectContaining({ code: "capacity_reached" }));
  rmSync(join(parent, "first/one"), { recursive: true });
  expect(ranges.of(folderIn("first", "two"))).toBe(0x78010000);
});

test("a sandbox gets another range if another installation has claimed its own since the machine has started", () => {
  const first = rangesOf("first");
  const [one, other] = [folderIn("first", "one"), folderIn("second", "other")];
  const given = first.of(one);
  rmSync(join(parent, "claims"), { recursive: true });
  mkdirSync(join(parent, "claims"));
  symlinkSync(other, join(parent, "claims", `${(given - 0x78000000) / 0x10000}`));
  const next = first.of(one);
  expect(next).not.toBe(given);
  expect(first.of(one)).toBe(next);
});

test("the user of a sandbox has the same id of the host, whatever its number is inside", () => {
  const ids = { root: 0x70000000, user: 0x70000001 };
  const first = 0x78010000;
  const mappings = rangeMappings(ids, first, { uid: 1000, gid: 0 });
  expect(hostIdOf(mappings, { uid: 1000, gid: 0 })).toEqual({ uid: ids.user, gid: ids.user });
  expect(hostIdOf(mappings, { uid: 999, gid: 1 })).toEqual({ uid: first + 999, gid: first + 1 });
  expect(hostIdOf(mappings, { uid: 65_535, gid: 65_535 })).toEqual({ uid: first + 65_535, gid: first + 65_535 });
  expect(() => hostIdOf(mappings, { uid: 65_536, gid: 0 })).toThrow("does not exist");
  expect(hostIdOf(diskMappings(ids, first, { uid: 0, gid: 0 }), { uid: ids.user, gid: 33 })).toEqual({ uid: ids.user, gid: first + 33 });
});
