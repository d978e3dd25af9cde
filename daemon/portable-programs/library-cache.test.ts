import { execFileSync } from "node:child_process";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { testWith, machine } from "../../tests/support/machine.ts";
import { libraryCache } from "./library-cache.ts";

testWith(machine.file("/sbin/ldconfig", "libc-bin"), "the list of libraries is one that the system can read, in the loader's order", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "berth-libraries-"));
  const file = join(folder.path, "cache");
  const names = ["libc.so.6", "libstdc++.so.6", "libm.so.6", "lib10.so", "lib9.so", "libgcc_s.so.1"];
  for (const [architecture, label] of Object.entries({ x64: "x86-64", arm64: "AArch64" }) as [NodeJS.Architecture, string][]) {
    writeFileSync(file, libraryCache(names, architecture));
    const listed = execFileSync("/sbin/ldconfig", ["-p", "-C", file], { encoding: "utf8" });
    expect([...listed.matchAll(/^\t(\S+) \(libc6,(\S+)\) => (\S+)$/gm)].map(([, ...found]) => found)).toEqual(
      ["lib10.so", "lib9.so", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6"].map((name) => [
        name,
        label,
        `/opt/berth/lib/${name}`,
      ]),
    );
  }
});
