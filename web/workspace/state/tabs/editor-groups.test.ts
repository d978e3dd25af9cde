import { expect, test } from "vitest";
import * as editors from "./editor-groups.ts";
import { fileTab, previewTab } from "./tab.ts";

const [a, b, c, d] = [fileTab("a.ts"), fileTab("b.ts"), fileTab("c.ts"), fileTab("d.ts")];

// The names of the tabs in each group. The active tab is in brackets, and the active group has a star.
const drawn = ({ groups, activeGroup }: editors.EditorGroups) =>
  groups.map(
    ({ id, tabs, activeTab }) =>
      tabs
        .map((tab) => [tab.id === activeTab, "path" in tab ? tab.path.replace(".ts", "") : tab.id.replace("preview:", "")] as const)
        .map(([isActive, name]) => (isActive ? `[${name}]` : name))
        .join(" ") + (id === activeGroup ? "*" : ""),
  );
const opened = (...tabs: (typeof a)[]) => tabs.reduce(editors.openTab, editors.noEditors);
const split = editors.openBeside(opened(a, b), c);

test("a tab that opens beside gets a group of its own, at most three", () => {
  expect(drawn(split)).toEqual(["a [b]", "[c]*"]);
  const three = editors.openBeside(split, d);
  expect(drawn(three)).toEqual(["a [b]", "[c]", "[d]*"]);
  expect(drawn(editors.openBeside(three, a))).toEqual(["a [b]", "c [a]*", "[d]"]);
});

test("a tab that opens beside uses the group that is there", () => {
  expect(drawn(editors.openBeside({ ...split, activeGroup: "1" }, d))).toEqual(["a [b]", "c [d]*"]);
  expect(drawn(editors.openBeside(editors.noEditors, a))).toEqual(["[a]*"]);
});

test("the same file may be open in two groups", () => {
  expect(drawn(editors.openBeside(opened(a), a))).toEqual(["[a]", "[a]*"]);
});

test("a tab moves within its group, to another group and to a new one", () => {
  const from = { group: "1", tab: a.id };
  expect(drawn(editors.moveTab(opened(a, b, d), from, { group: "1", at: 2 }))).toEqual(["b [a] d*"]);
  expect(drawn(editors.moveTab(opened(a, b, d), from, { group: "1", at: "end" }))).toEqual(["b d [a]*"]);
  expect(drawn(editors.moveTab(split, from, { group: "2", at: 0 }))).toEqual(["[b]", "[a] c*"]);
  expect(drawn(editors.moveTab(split, from, { group: "2", at: "right" }))).toEqual(["[b]", "[c]", "[a]*"]);
  expect(drawn(editors.moveTab(split, from, { group: "1", at: "left" }))).toEqual(["[a]*", "[b]", "[c]"]);
});

test("a file that is dropped opens in a group or beside it", () => {
  expect(drawn(editors.placeTab(split, d, { group: "1", at: 0 }))).toEqual(["[d] a b*", "[c]"]);
  expect(drawn(editors.placeTab(split, d, { group: "1", at: "end" }))).toEqual(["a b [d]*", "[c]"]);
  const three = editors.placeTab(split, d, { group: "1", at: "right" });
  expect(drawn(three)).toEqual(["a [b]", "[d]*", "[c]"]);
  expect(editors.placeTab(three, a, { group: "1", at: "left" })).toBe(three);
});

test("a group disappears with its last tab, and its neighbour becomes active", () => {
  expect(drawn(editors.closeTab(split, "2", c.id))).toEqual(["a [b]*"]);
  expect(drawn(editors.moveTab(split, { group: "2", tab: c.id }, { group: "1", at: "end" }))).toEqual(["a b [c]*"]);
  const three = editors.openBeside(split, d);
  expect(drawn(editors.closeTab({ ...three, activeGroup: "2" }, "2", c.id))).toEqual(["a [b]*", "[d]"]);
  expect(drawn(editors.closeTab(opened(a), "1", a.id))).toEqual(["*"]);
});

test("a group with one tab stays if that tab is dropped beside it", () => {
  expect(editors.moveTab(split, { group: "2", tab: c.id }, { group: "2", at: "left" })).toBe(split);
  expect(drawn(editors.moveTab(split, { group: "2", tab: c.id }, { group: "1", at: "left" }))).toEqual(["[c]*", "a [b]"]);
});

test("closed tabs come back in their group, the last one first", () => {
  const afterClosing = editors.closeTab(editors.closeTab(split, "1", a.id), "2", c.id);
  expect(drawn(afterClosing)).toEqual(["[b]*"]);
  const once = editors.reopenTab(afterClosing);
  expect(drawn(once)).toEqual(["b [c]*"]);
  expect(drawn(editors.reopenTab(once))).toEqual(["b c [a]*"]);
  const reopened = editors.reopenTab(editors.closeTab(split, "1", b.id));
  expect(drawn(reopened)).toEqual(["a [b]*", "[c]"]);
  expect(editors.reopenTab(editors.noEditors)).toBe(editors.noEditors);
});

test("code does not cover the preview that it is worked on beside", () => {
  const beside = editors.openBeside(opened(a), previewTab(3000));
  expect(drawn(editors.openTab(beside, b))).toEqual(["a [b]*", "[3000]"]);
  expect(drawn(editors.openTemporaryTab(beside, b))).toEqual(["a [b]*", "[3000]"]);
  expect(drawn(editors.openTab(editors.openTab(opened(a), previewTab(3000)), b))).toEqual(["a 3000 [b]*"]);
});

test("a temporary tab is replaced in its group only, and an edit keeps it in all groups", () => {
  const shown = editors.openTemporaryTab(editors.openBeside(editors.openTemporaryTab(opened(a), b), c), b);
  expect(drawn(shown)).toEqual(["a [b]", "c [b]*"]);
  expect(drawn(editors.openTemporaryTab(shown, d))).toEqual(["a [b]", "c [d]*"]);
  expect(drawn(editors.openTemporaryTab(editors.keepTab(shown, b.id), d))).toEqual(["a [b]", "c b [d]*"]);
});

test("the active tab moves by one place and stops at the ends", () => {
  const state = editors.activateTab(opened(a, b, c), "1", a.id);
  expect(drawn(editors.shiftTab(state, 1))).toEqual(["b [a] c*"]);
  expect(drawn(editors.shiftTab(editors.shiftTab(state, 1), -1))).toEqual(["[a] b c*"]);
  expect(drawn(editors.shiftTab(state, -1))).toEqual(["[a] b c*"]);
});

test("a renamed folder changes the tabs, the closed tabs and the recent files", () => {
  const inside = editors.openBeside(opened(fileTab("src/a.ts")), fileTab("src/b.ts"));
  const renamed = editors.renamePath(editors.closeTab(inside, "1", "file:src/a.ts"), "src", "lib");
  expect(drawn(renamed)).toEqual(["[lib/b]*"]);
  expect(drawn(editors.reopenTab(renamed))).toEqual(["lib/b [lib/a]*"]);
  expect(renamed.recentFiles).toEqual(["lib/b.ts", "lib/a.ts"]);
});

test("the recent files are ordered by their last opening", () => {
  expect(editors.openTab(opened(a, b, c), a).recentFiles).toEqual(["a.ts", "c.ts", "b.ts"]);
});
