import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeWith, machine } from "../../../../tests/support/machine.ts";
import { prepareHostRoot, prepareTemplateRoot } from "./root.ts";

describeWith(machine.linux, "root folders", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "berth-roots-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test("the shared root has the host's links and a user, and no private files", () => {
    const root = prepareHostRoot(folder);
    expect(lstatSync(join(root, "bin")).isSymbolicLink()).toBe(lstatSync("/bin").isSymbolicLink());
    expect(readFileSync(join(root, "etc/passwd"), "utf8")).toContain("user:x:1000:1000:");
    expect(["etc/shadow", "etc/ssl/private", "etc/hosts.allow", "root/.ssh"].filter((path) => existsSync(join(root, path)))).toEqual([]);
    expect(statSync(join(root, "tmp")).mode & 0o7777).toBe(0o1777);
    expect(readdirSync(join(root, "usr"))).toEqual([]);
    expect(readlinkSync(join(root, "etc/localtime"))).toBe("/usr/share/zoneinfo/Etc/UTC");
  });

  test("the shared root is created once and reused, and no draft is left", () => {
    const first = prepareHostRoot(folder);
    const madeMs = statSync(first).ctimeMs;
    expect(prepareHostRoot(folder)).toBe(first);
    expect(statSync(first).ctimeMs).toBe(madeMs);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  test("missing mount points are created in a template's root", () => {
    const root = join(folder, "root");
    mkdirSync(join(root, "tmp"), { recursive: true, mode: 0o700 });
    prepareTemplateRoot(join(folder, "parent"), root);
    expect(
      ["proc", "dev", "tmp", "run/berth", "run/berth-egress", "workspace", "home/user", "opt/berth"].filter(
        (path) => !existsSync(join(root, path)),
      ),
    ).toEqual([]);
  });

  test("a sandbox gets an empty copy of a template's root, with the entries to mount into it", () => {
    const root = join(folder, "root");
    mkdirSync(join(root, "usr/bin"), { recursive: true });
    symlinkSync("usr/bin", join(root, "bin"));
    writeFileSync(join(root, "note"), "of the template");
    const { path, entries } = prepareTemplateRoot(join(folder, "parent"), root);
    expect(entries.toSorted()).toEqual(["data", "home", "mnt", "note", "opt", "run", "usr"]);
    expect(readdirSync(path).toSorted()).toEqual([
      "bin",
      "data",
      "dev",
      "home",
      "mnt",
      "note",
      "opt",
      "proc",
      "run",
      "tmp",
      "usr",
      "workspace",
    ]);
    expect(readlinkSync(join(path, "bin"))).toBe("usr/bin");
    expect(readFileSync(join(path, "note"), "utf8")).toBe("");
    expect(readdirSync(join(path, "usr"))).toEqual([]);
    expect(statSync(path).mode & 0o777).toBe(0o755);
    expect(prepareTemplateRoot(join(folder, "parent"), root).path).toBe(path);
  });

  test("a symbolic link that leads out of a template's root is refused", () => {
    const outside = join(folder, "outside");
    const root = join(folder, "root");
    mkdirSync(outside);
    mkdirSync(root);
    symlinkSync(outside, join(root, "run"));
    expect(() => prepareTemplateRoot(join(folder, "parent"), root)).toThrow("must be a folder");
    expect(readdirSync(outside)).toEqual([]);
  });
});
