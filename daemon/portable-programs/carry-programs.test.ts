import { mkdtempDisposableSync, readlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { carryPrograms } from "./carry-programs.ts";

test("a machine whose programs are of another kind keeps them, and the reason is given", () => {
  using temporary = mkdtempDisposableSync(join(tmpdir(), "berth-portable-"));
  const folder = temporary.path;
  writeFileSync(join(folder, "node"), "#!/bin/sh\n");
  const programs = new Map([["node", join(folder, "node")]]);
  const { reason } = carryPrograms(folder, { programs, addons: [], previous: folder });
  expect(reason).toBe(`${folder}/node is not a 64-bit program`);
  expect(readlinkSync(join(folder, "lib/sh"))).toBe("/bin/sh");
});
