import { execFileSync } from "node:child_process";
import { mkdtempSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { testWith, machine } from "../tests/support/machine.ts";
import { carryPrograms, libraryCache } from "./build-libraries.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-libraries-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

testWith(machine.file("/sbin/ldconfig", "libc-bin"), "the list of libraries is one that the system can read, in the loader's order", () => {
  const names = ["libc.so.6", "libstdc++.so.6", "libm.so.6", "lib10.so", "lib9.so", "libgcc_s.so.1"];
  for (const [architecture, label] of Object.entries({ x64: "x86-64", arm64: "AArch64" }) as [NodeJS.Architecture, string][]) {
    writeFileSync(join(folder, "cache"), libraryCache(names, architecture));
    const listed = execFileSync("/sbin/ldconfig", ["-p", "-C", join(folder, "cache")], { encoding: "utf8" });
    expect([...listed.matchAll(/^\t(\S+) \(libc6,(\S+)\) => (\S+)$/gm)].map(([, ...found]) => found)).toEqual(
      ["lib10.so", "lib9.so", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6"].map((name) => [
        name,
        label,
        `/opt/berth/lib/${name}`,
      ]),
    );
  }
});

test("a machine whose programs are of another kind keeps them, and says why", () => {
  writeFileSync(join(folder, "node"), "#!/bin/sh\n");
  const programs = new Map([["node", join(folder, "node")]]);
  const { reason } = carryPrograms(folder, { programs, addons: [], previous: folder });
  expect(reason).toBe(`${folder}/node is not a 64-bit program`);
  expect(readlinkSync(join(folder, "lib/sh"))).toBe("/bin/sh");
});
