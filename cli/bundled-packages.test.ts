import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-bundles-"));
  for (const path of ["cli/dist", "node_modules/lamp"]) mkdirSync(join(folder, path), { recursive: true });
  copyFileSync(join(import.meta.dirname, "bundled-packages.js"), join(folder, "cli/bundled-packages.js"));
  write("package.json", '{ "type": "module" }');
  write("node_modules/lamp/package.json", '{ "version": "1.2.3", "main": "lamp.cjs" }');
  write("node_modules/lamp/lamp.cjs", 'exports.from = "package";');
  write("cli/dist/lamp.js", 'export const from = "bundle";');
  write(
    "cli/main.js",
    `import { createRequire } from "node:module";
import { useBundledPackages } from "./bundled-packages.js";
useBundledPackages();
console.log((await import("lamp")).from, createRequire(import.meta.url)("lamp").from);`,
  );
});
afterEach(() => rmSync(folder, { recursive: true }));

test("import loads a package from its bundle, and require from the package", async () => {
  write("cli/dist/packages.json", '{ "files": { "lamp": "lamp.js" }, "versions": { "lamp": "1.2.3" } }');
  expect(await run()).toBe("bundle package");
});

test("without bundles, or with another version than the bundled one, the installed package is used", async () => {
  expect(await run()).toBe("package package");
  write("cli/dist/packages.json", '{ "files": { "lamp": "lamp.js" }, "versions": { "lamp": "1.2.2" } }');
  expect(await run()).toBe("package package");
});

const write = (path: string, text: string) => writeFileSync(join(folder, path), text);

const run = async () => (await promisify(execFile)(process.execPath, [join(folder, "cli/main.js")])).stdout.trim();
