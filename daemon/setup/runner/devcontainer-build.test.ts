import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempDisposableSync, readFileSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildPlanOf } from "./devcontainer-build.ts";
import { packBuild } from "./pack-build.ts";

const PLACE = { root: "/workspace", folder: ".devcontainer" };

test("both forms of a Dockerfile are understood, relative to the folder of devcontainer.json", () => {
  const build = { dockerfile: "Dockerfile", context: "..", args: { A: "1", B: 2 }, target: "dev" };
  expect(buildPlanOf({ build, remoteUser: "node" }, { ...PLACE, image: null })).toEqual({
    base: { dockerfile: ".devcontainer/Dockerfile", context: ".", args: { A: "1", B: "2" }, target: "dev" },
    features: [],
    installOrder: [],
    containerUser: null,
    remoteUser: "node",
  });
  expect(buildPlanOf({ dockerFile: "Dockerfile", context: ".." }, { ...PLACE, image: null })?.base).toEqual({
    dockerfile: ".devcontainer/Dockerfile",
    context: ".",
    args: {},
    target: null,
  });
});

test("an image is built only for features or for another user", () => {
  expect(buildPlanOf({}, { ...PLACE, image: "debian:12" })).toBeNull();
  expect(buildPlanOf({ features: { "./one": {} } }, { ...PLACE, image: null })).toBeNull();
  expect(buildPlanOf({ features: { "./one": {} } }, { ...PLACE, image: "debian:12" })).toMatchObject({
    base: { image: "debian:12" },
    features: [{ id: "./one", folder: ".devcontainer/one" }],
  });
  expect(buildPlanOf({ remoteUser: "node" }, { ...PLACE, image: "node:24" })).toMatchObject({
    base: { image: "node:24" },
    remoteUser: "node",
  });
});

test("nothing outside of the repository is built", () => {
  expect(() => buildPlanOf({ build: { dockerfile: "../../Dockerfile" } }, { ...PLACE, image: null })).toThrow("outside of the repository");
  expect(() => buildPlanOf({ build: { dockerfile: "Dockerfile", context: "../.." } }, { ...PLACE, image: null })).toThrow(
    "outside of the repository",
  );
  expect(() => buildPlanOf({ features: { "../../x": {} } }, { ...PLACE, image: "debian" })).toThrow("outside of the repository");
  expect(() => buildPlanOf({ features: { "./../../x": {} } }, { ...PLACE, image: "debian" })).toThrow("outside of the repository");
  expect(() => buildPlanOf({ remoteUser: "a\nRUN b" }, { ...PLACE, image: "debian" })).toThrow("characters");
});

test("equal files make equal archives, and a context that no line uses is left out", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "berth-pack-"));
  const root = join(folder.path, "repository");
  const file = (path: string, text: string) => writeFileSync(join(root, path), text);
  mkdirSync(join(root, ".devcontainer/one"), { recursive: true });
  mkdirSync(join(root, ".git"));
  file(".git/HEAD", "ref");
  file(".gitignore", "x\n");
  file(".devcontainer/Dockerfile", "FROM debian\nCOPY .gitignore /\n");
  file(".devcontainer/one/install.sh", "true\n");
  const plan = buildPlanOf({ build: { dockerfile: "Dockerfile", context: ".." }, features: { "./one": {} } }, { ...PLACE, image: null })!;
  const pack = async () => {
    const archive = join(folder.path, "build.tar");
    await packBuild(plan, root, archive);
    const names = execFileSync("tar", ["-tf", archive], { encoding: "utf8" }).split("\n");
    return { bytes: readFileSync(archive), names };
  };
  const first = await pack();
  expect(first.names).toContain("repository/./.gitignore");
  expect(first.names.filter((name) => name.includes(".git/"))).toEqual([]);
  utimesSync(join(root, ".gitignore"), 1, 1);
  expect((await pack()).bytes.equals(first.bytes)).toBe(true);
  file(".devcontainer/Dockerfile", "FROM debian\n# COPY . /\nRUN true\n");
  expect((await pack()).names.filter(Boolean)).toEqual([
    "build.json",
    "repository/.devcontainer/Dockerfile",
    "repository/.devcontainer/one/",
    "repository/.devcontainer/one/install.sh",
  ]);
  file(".devcontainer/Dockerfile", "FROM debian\nRUN --network=none \\\n  --mount=type=bind,target=/mnt true\n");
  expect((await pack()).names).toContain("repository/./.gitignore");
});

test("variables of args are replaced, without those of the session", () => {
  const args = {
    USERNAME: "${localEnv:USER:dev}",
    SECRET: "${containerEnv:PATH}",
    AT: "${containerWorkspaceFolder}",
    GONE: "${localEnv:X}",
  };
  const plan = buildPlanOf({ build: { dockerfile: "Dockerfile", args } }, { ...PLACE, image: null });
  expect(plan?.base).toMatchObject({ args: { USERNAME: "dev", SECRET: "", AT: "/workspace", GONE: "" } });
});

test("more features or args than people write are refused", () => {
  const many = (count: number, name: string) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`${name}${at}`, {}]));
  expect(() => buildPlanOf({ features: many(10_000, "./f") }, { ...PLACE, image: "debian" })).toThrow("there are more than 50 features");
  const args = (values: object) => () => buildPlanOf({ build: { dockerfile: "Dockerfile", args: values } }, { ...PLACE, image: null });
  expect(args({ A: "x".repeat(1024 * 1024) })).toThrow("the build has too many args, or too long ones");
  expect(args(Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`A${at}`, 1])))).toThrow("too many args");
});

test("a link that leads out of the repository, a device and a large context are not packed", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "berth-pack-"));
  const root = join(folder.path, "repository");
  const archive = join(folder.path, "build.tar");
  mkdirSync(join(root, ".devcontainer"), { recursive: true });
  const pack = (build: object) => packBuild(buildPlanOf({ build }, { ...PLACE, image: null })!, root, archive);
  const link = (target: string, name: string) => symlinkSync(target, join(root, ".devcontainer", name));
  link("/etc/passwd", "outside");
  link("/dev/zero", "device");
  link("../Dockerfile", "inside");
  link("/etc", "folder");
  await expect(pack({ dockerfile: "outside" })).rejects.toThrow(".devcontainer/outside leads out of the repository");
  await expect(pack({ dockerfile: "device" })).rejects.toThrow("leads out of the repository");
  await expect(pack({ dockerfile: "inside" })).rejects.toThrow("there is no .devcontainer/inside");
  writeFileSync(join(root, "Dockerfile"), "FROM debian\nCOPY . /\n");
  await expect(pack({ dockerfile: "inside", context: "folder" })).rejects.toThrow(".devcontainer/folder leads out of the repository");
  await expect(pack({ dockerfile: "." })).rejects.toThrow(".devcontainer is not a file");
  execFileSync("mkfifo", [join(root, "pipe")]);
  await expect(pack({ dockerfile: "../pipe" })).rejects.toThrow("pipe is not a file");
  // A link to a file of the repository is that file.
  await pack({ dockerfile: "inside", context: ".." });
  expect(execFileSync("tar", ["-xOf", archive, "repository/./Dockerfile"], { encoding: "utf8" })).toContain("FROM debian");
  expect(JSON.parse(execFileSync("tar", ["-xOf", archive, "build.json"], { encoding: "utf8" }))).toMatchObject({
    base: { dockerfile: "Dockerfile", context: "." },
  });
  writeFileSync(join(root, "large"), "");
  truncateSync(join(root, "large"), 257 * 2 ** 20);
  await expect(pack({ dockerfile: "inside", context: ".." })).rejects.toThrow("its files are larger than 256 MiB");
  expect(existsSync(archive)).toBe(false);
});
