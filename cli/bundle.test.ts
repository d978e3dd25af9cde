import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";

const CODE = "node_modules/.cache/berth/code";
const SOURCE = 'console.log("lamp");';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-bundle-"));
  for (const path of ["cli/dist", "node_modules/lamp"]) mkdirSync(join(folder, path), { recursive: true });
  for (const file of ["bundle.js", "server-flags.js"]) copyFileSync(join(import.meta.dirname, file), join(folder, "cli", file));
  write("package.json", '{ "type": "module" }');
  write("node_modules/lamp/package.json", '{ "version": "1.2.3" }');
  write("cli/lamp.ts", SOURCE);
  write("cli/main.js", 'import { loadBundle } from "./bundle.js";\nconsole.log(loadBundle("command")?.light());');
  write("cli/dist/lamp-1.cjs", 'exports.light = () => "on";');
  write(
    "cli/dist/bundle.json",
    JSON.stringify({ entry: "lamp-1.cjs", sources: ["cli/lamp.ts", "node_modules/lamp/package.json"].map(describe) }),
  );
});
afterEach(() => rmSync(folder, { recursive: true }));

test("the bundle is used while its sources and packages are the same", async () => {
  expect(await run()).toBe("on");
  utimesSync(join(folder, "cli/lamp.ts"), 1, 1);
  expect(await run()).toBe("on");
});

test.each<[string, () => void]>([
  ["a source has changed", () => change("cli/lamp.ts", SOURCE.replace("lamp", "pump"))],
  ["a source was removed", () => rmSync(join(folder, "cli/lamp.ts"))],
  ["another version of a package is installed", () => change("node_modules/lamp/package.json", '{ "version": "1.2.4" }')],
  ["there is no bundle", () => rmSync(join(folder, "cli/dist/bundle.json"))],
])("the bundle is not used if %s", async (_, act) => {
  act();
  expect(await run()).toBe("undefined");
});

test("the compiled code is stored for the next start, and that of an older bundle is deleted", async () => {
  await run();
  const [stored] = readdirSync(join(folder, CODE));
  expect(stored).toMatch(/^command-lamp-1-\d+$/);
  expect(await run()).toBe("on");
  expect(readdirSync(join(folder, CODE))).toEqual([stored]);

  renameSync(join(folder, "cli/dist/lamp-1.cjs"), join(folder, "cli/dist/lamp-2.cjs"));
  write("cli/dist/bundle.json", JSON.stringify({ entry: "lamp-2.cjs", sources: [] }));
  expect(await run()).toBe("on");
  expect(readdirSync(join(folder, CODE))).toEqual([stored!.replace("lamp-1", "lamp-2")]);
});

test("a server that has started stores its code at its end, for the flags of its start", async () => {
  write("cli/main.js", 'import { loadBundle } from "./bundle.js";\nloadBundle("serve").start();');
  write("cli/dist/lamp-1.cjs", "exports.start = () => {};");
  await run();
  expect(existsSync(join(folder, CODE))).toBe(false);

  const lateFlags = 'require("node:v8").setFlagsFromString("--heap-growing-percent=300")';
  write(
    "cli/dist/lamp-1.cjs",
    `exports.start = () => { require("node:diagnostics_channel").channel("berth:started").publish({}); ${lateFlags}; };`,
  );
  await run();
  const [stored] = readdirSync(join(folder, CODE));
  const { mtimeMs } = statSync(join(folder, CODE, stored!));
  await run();
  expect(statSync(join(folder, CODE, stored!)).mtimeMs).toBe(mtimeMs);
});

test("compiled code that V8 rejects is replaced", async () => {
  await run();
  const [stored] = readdirSync(join(folder, CODE));
  write(join(CODE, stored!), "not code");
  expect(await run()).toBe("on");
  expect(statSync(join(folder, CODE, stored!)).size).toBeGreaterThan(100);
});

const write = (path: string, text: string) => writeFileSync(join(folder, path), text);

function describe(path: string): object {
  const { size, mtimeMs } = statSync(join(folder, path));
  const hash = createHash("sha1")
    .update(readFileSync(join(folder, path)))
    .digest("hex");
  return { path, size, changedMs: Math.floor(mtimeMs), hash };
}

// Two writes within a millisecond would have the same time.
function change(path: string, text: string): void {
  write(path, text);
  utimesSync(join(folder, path), 1, 1);
}

const run = async () => (await promisify(execFile)(process.execPath, [join(folder, "cli/main.js")])).stdout.trim();
