import { expect, test } from "vitest";
import type { NamedEntry } from "@berth/contract/daemon.ts";
import { findByPrefix, visibleRows, type TreeRows } from "./tree-rows.ts";

const entry = (name: string, type: NamedEntry["type"] = "file", target?: "folder"): NamedEntry => ({
  name,
  type,
  ...(target && { target }),
});
const folders = {
  "": [entry(".git", "folder"), entry("src", "folder"), entry("linked", "link", "folder"), entry("b.txt")],
  src: [entry("main.ts")],
  linked: [entry("inside.txt")],
};
const nodesOf = (rows: TreeRows) => Array.from({ length: rows.count }, (_, i) => rows.at(i)!);
const paths = (expanded: string[]) => [...visibleRows(folders, new Set(expanded), null).all()];

test("expanded folders show their contents below them, and Git's folder is hidden", () => {
  expect(paths([])).toEqual(["src", "linked", "b.txt"]);
  expect(paths(["src"])).toEqual(["src", "src/main.ts", "linked", "b.txt"]);
});

test("a link to a folder is a folder", () => {
  expect(paths(["linked"])).toEqual(["src", "linked", "linked/inside.txt", "b.txt"]);
});

test("a new name is typed at the top of its folder", () => {
  const nodes = nodesOf(visibleRows(folders, new Set(["src"]), { kind: "file", folder: "src" }));
  expect(nodes.map(({ level, name }) => `${level} ${name}`)).toEqual(["0 src", "1 ", "1 main.ts", "0 linked", "0 b.txt"]);
});

test("the rows of a folder are made once", () => {
  const large = { "": Array.from({ length: 50_000 }, (_, i) => entry(`file-${i}`)) };
  const first = visibleRows(large, new Set(), null);
  const second = visibleRows(large, new Set(["other"]), null);
  expect(second.at(49_999)).toBe(first.at(49_999));
  expect(second.at(50_000)).toBeUndefined();
  expect(second.indexOf("file-49999")).toBe(49_999);
  expect([...second.between("file-12", "file-10")]).toEqual(["file-10", "file-11", "file-12"]);
});

test("typing letters finds the next name that starts with them", () => {
  const rows = visibleRows(folders, new Set(["src"]), null);
  expect(findByPrefix(rows, 0, "M")?.path).toBe("src/main.ts");
  expect(findByPrefix(rows, 3, "s")?.path).toBe("src");
  expect(findByPrefix(rows, 0, "zz")).toBeUndefined();
});

test("folders that contain nothing but one folder share a row", () => {
  const nested = {
    "": [entry("java", "folder"), entry("last.txt")],
    java: [entry("org", "folder")],
    "java/org": [entry("berth", "folder")],
    "java/org/berth": [entry("inner", "folder"), entry("Main.java")],
  };
  const rowsOf = (...expanded: string[]) => visibleRows(nested, new Set(expanded), null);
  const shown = (...expanded: string[]) => nodesOf(rowsOf(...expanded)).map(({ level, name }) => `${level} ${name}`);
  expect(shown()).toEqual(["0 java", "0 last.txt"]);
  expect(shown("java", "java/org")).toEqual(["0 java/org/berth", "0 last.txt"]);
  const all = ["java", "java/org", "java/org/berth"];
  expect(shown(...all)).toEqual(["0 java/org/berth", "1 inner", "1 Main.java", "0 last.txt"]);
  const rows = rowsOf(...all);
  expect(["java", "java/org", "java/org/berth", "java/org/berth/Main.java", "last.txt"].map(rows.indexOf)).toEqual([0, 0, 0, 2, 3]);
  expect(rows.at(0)).toMatchObject({ path: "java/org/berth", parent: "" });
});

test("the index of every row is found", () => {
  const wide = Object.fromEntries([
    ["", ["f1", "f2", "f3"].map((name) => entry(name, "folder"))],
    ...["f1", "f2", "f3"].map((name) => [name, Array.from({ length: 20 }, (_, i) => entry(`${i}.txt`))]),
  ]) as Record<string, NamedEntry[]>;
  const rows = visibleRows(wide, new Set(["f1", "f3"]), { kind: "file", folder: "f3" });
  const nodes = nodesOf(rows);
  expect(nodes.map(({ path }) => rows.indexOf(path))).toEqual(nodes.map((_node, i) => i));
  const below = rows.between("f1/18.txt", "f2");
  expect(nodes.flatMap(({ path }) => (below.has(path) ? [path] : []))).toEqual(["f1/18.txt", "f1/19.txt", "f2"]);
  expect([below.has("f2/1.txt"), below.has("nothing")]).toEqual([false, false]);
  expect(rows.indexOf("f2/1.txt")).toBe(-1);
  expect(rows.indexOf("nothing")).toBe(-1);
});
