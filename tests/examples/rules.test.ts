import { globSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { examples } from "./example-app.ts";

const CODE = /\.(?:tsx?|py|html|css)$/;
const names = [...new Set(globSync("*/README.md", { cwd: examples }).map((path) => path.split("/")[0]!))];
const filesOf = (name: string) =>
  globSync("**/*", {
    cwd: join(examples, name),
    withFileTypes: true,
    exclude: (entry) => ["node_modules", ".next", "__pycache__"].includes(entry.name),
  })
    .filter((entry) => entry.isFile() && entry.name !== "next-env.d.ts")
    .map((entry) => join(entry.parentPath, entry.name));
const read = (path: string) => readFileSync(path, "utf8");

test("there are six examples, and the documentation lists them", () => {
  expect(names.toSorted()).toEqual(["batch-runner", "classroom", "interview", "issue-agent", "next-app", "partner-app"]);
  const list = read(join(examples, "../docs/README.md"));
  expect(names.filter((name) => !list.includes(`(../examples/${name}/README.md)`))).toEqual([]);
});

describe.each(names)("the example %s", (name) => {
  const code = filesOf(name).filter((path) => CODE.test(path));

  test("has fewer than 150 lines of code", () => {
    const lines = code.flatMap((path) => read(path).split("\n")).filter((line) => line.trim() !== "");
    expect(lines.length).toBeGreaterThan(50);
    expect(lines.length).toBeLessThan(150);
  });

  test("uses the public client, exact versions of packages, and nothing else of this repository", () => {
    const imported = code.flatMap((path) =>
      [...read(path).matchAll(/^(?:import|\} from|import .* from) .*?"([^"]+)";$/gm)].map(([, from]) => from!),
    );
    const packages = Object.assign(
      {},
      ...filesOf(name)
        .filter((path) => path.endsWith("/package.json"))
        .map((path) => JSON.parse(read(path)).dependencies),
    );
    const known = ["@berth/client", ...Object.keys(packages)];
    const isKnown = (from: string) =>
      isBuiltin(from) || known.some((each) => from === each || from.startsWith(`${each}/`)) || /^\.\.?\//.test(from);
    expect(imported.filter((from) => !isKnown(from))).toEqual([]);
    expect(code.filter((path) => /\.\.\/\.\.\/(?:\.\.\/)*(?:client|server|contract|tests)\b/.test(read(path)))).toEqual([]);
    expect(code.some((path) => /from "@berth\/client"|^from berth import/m.test(read(path)))).toBe(true);
    for (const version of Object.values(packages)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  });
});
