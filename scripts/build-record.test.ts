import { mkdirSync, mkdtempSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { changedAt, isBuildCurrent, recordBuild } from "./build-record.mjs";

test("a build is current until one of its sources changes, even to the same length and time", () => {
  const { root, record } = clone();
  expect(isBuildCurrent(root)).toBe(false);
  record();
  expect(isBuildCurrent(root)).toBe(true);

  const { atime, mtime } = statSync(join(root, "web/page.ts"));
  writeFileSync(join(root, "web/page.ts"), "second");
  utimesSync(join(root, "web/page.ts"), atime, mtime);
  expect(isBuildCurrent(root)).toBe(false);
});

test("a build is not current after a source was added, renamed or removed, or after its result was removed", () => {
  const { root, record } = clone();
  const isCurrentAfter = (change: () => void) => {
    record();
    expect(isBuildCurrent(root)).toBe(true);
    change();
    return isBuildCurrent(root);
  };
  expect(isCurrentAfter(() => writeFileSync(join(root, "web/new.ts"), ""))).toBe(false);
  expect(isCurrentAfter(() => renameSync(join(root, "web/new.ts"), join(root, "web/newer.ts")))).toBe(false);
  expect(isCurrentAfter(() => rmSync(join(root, "web/newer.ts")))).toBe(false);
  expect(isCurrentAfter(() => rmSync(join(root, "dist/.sources")))).toBe(false);
});

test("a run during which a source changed records nothing", () => {
  const { root, record } = clone();
  record(Date.now() - 60_000);
  expect(isBuildCurrent(root)).toBe(false);
});

function clone() {
  const root = mkdtempSync(join(tmpdir(), "berth-build-record-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const folder of ["web", "dist", "node_modules"]) mkdirSync(join(root, folder));
  writeFileSync(join(root, "web/page.ts"), "first.");
  writeFileSync(join(root, "dist/.sources"), "");
  const record = (beganMs = Infinity) => {
    const changes = new Map(["web", "web/page.ts", "dist/.sources"].map((path) => [path, changedAt(root, path)]));
    recordBuild(root, changes, beganMs);
  };
  return { root, record };
}
