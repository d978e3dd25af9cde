import { mkdtempDisposableSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readDevcontainer } from "./devcontainer.ts";

function read(text: string) {
  using folder = mkdtempDisposableSync(join(tmpdir(), "berth-devcontainer-"));
  writeFileSync(join(folder.path, ".devcontainer.json"), text);
  const said: string[] = [];
  return { found: readDevcontainer(folder.path, (sentence) => void said.push(sentence)), said };
}

test("a hostile file costs little time and little of the environment", () => {
  const started = performance.now();
  const many = Object.fromEntries(Array.from({ length: 8_000 }, (_, at) => [`V${at}`, "x"]));
  const { found } = read(JSON.stringify({ containerEnv: many, ...many }));
  expect(Object.keys(found!.env)).toHaveLength(100);
  expect(found!.remarks.join("").length).toBeLessThan(1_000);
  expect(found!.remarks[0]).toContain("15880 more");
  expect(Object.keys(read(JSON.stringify({ containerEnv: { A: "x".repeat(100_000), B: "kept" } })).found!.env)).toEqual([]);
  expect(read(`{"postCreateCommand": ${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}}`).said).toHaveLength(1);
  expect(read("/*".repeat(100_000)).said).toHaveLength(1);
  expect(read(" ".repeat(300_000)).said).toEqual([".devcontainer.json is not used: it is larger than 256 KiB"]);
  // Far more than this takes, and far less than the square of its length.
  expect(performance.now() - started).toBeLessThan(5_000);
});

test("a link to a device is not read", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "berth-devcontainer-"));
  symlinkSync("/dev/zero", join(folder.path, ".devcontainer.json"));
  expect(readDevcontainer(folder.path, () => {})).toBeNull();
});

test("properties that do not apply are named: mounts by their paths, and single properties of a build", () => {
  const mounts = [
    "source=modules,target=${containerWorkspaceFolder}/node_modules,type=volume",
    { source: "cache", target: "/home/user/.cache", type: "volume" },
    "source=untyped,target=/workspace/x",
    "source=history,target=/commandhistory,type=volume",
    "source=/var/run/docker.sock,target=/var/run/docker.sock,type=bind",
    "source=a,target=/workspace/../etc,type=volume",
    "nonsense",
    7,
  ];
  const { found } = read(
    JSON.stringify({ build: { dockerfile: "Dockerfile", options: ["--privileged"], cacheFrom: "x" }, mounts, runArgs: [] }),
  );
  expect(found!.remarks).toEqual([
    "devcontainer.json: these properties do not apply here: runArgs, build.options, build.cacheFrom, volume at /commandhistory, " +
      "mount at /var/run/docker.sock, volume at /etc, a mount without a path.",
  ]);
});
