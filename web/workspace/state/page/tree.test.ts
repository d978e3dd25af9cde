import { expect, test } from "vitest";
import { createTree, topmost } from "./tree.ts";

const rows = ["a", "b", "c", "d"];
const between = (from: string, to: string) => {
  const [first, last] = [rows.indexOf(from), rows.indexOf(to)].toSorted((a, b) => a - b);
  return new Set(rows.slice(first, (last ?? 0) + 1));
};
const selected = (tree: ReturnType<typeof createTree>) => [...tree.store.getState().selected];

test("Shift extends the selection from the anchor, which stays selected", () => {
  const tree = createTree();
  tree.select("b");
  tree.extendTo("c", between);
  expect(selected(tree)).toEqual(["b", "c"]);
  tree.extendTo("d", between);
  expect(selected(tree)).toEqual(["b", "c", "d"]);
  tree.extendTo("a", between);
  expect(selected(tree)).toEqual(["a", "b"]);
});

test("a row that only has the focus is the anchor", () => {
  const tree = createTree();
  tree.focus("c");
  tree.extendTo("d", between);
  expect(selected(tree)).toEqual(["c", "d"]);
});

test("an action on a selected path applies to the selection, and on another path to that path alone", () => {
  const tree = createTree();
  tree.select("a");
  tree.toggle("c");
  expect([tree.chosen("c"), tree.chosen("b")]).toEqual([["a", "c"], ["b"]]);
  tree.toggle("a");
  expect(tree.chosen("c")).toEqual(["c"]);
});

test("an action on a folder and on files in it names the folder only", () => {
  expect(topmost(["a/b", "a", "a.txt", "a-b/c", "a/b/c"])).toEqual(["a-b/c", "a.txt", "a"]);
});

test("the result of slow work is selected unless the person selects something else meanwhile", async () => {
  const tree = createTree();
  tree.select("a");
  await tree.selectResult(async () => ["b", "c"]);
  expect(selected(tree)).toEqual(["b", "c"]);
  const working = tree.selectResult(async () => ["d"]);
  tree.select("a");
  await working;
  expect(selected(tree)).toEqual(["a"]);
});
