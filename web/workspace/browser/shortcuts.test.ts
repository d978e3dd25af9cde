import { expect, test } from "vitest";
import { matchesShortcut, formatShortcut, reachesShell, type KeyPress } from "./shortcuts.ts";

const press = (change: Partial<KeyPress>): KeyPress => ({
  key: "p",
  code: "KeyP",
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  altKey: false,
  ...change,
});

test("Mod is Control on a PC and Command on a Mac", () => {
  expect(matchesShortcut(press({ ctrlKey: true }), "Mod+P", "pc")).toBe(true);
  expect(matchesShortcut(press({ ctrlKey: true }), "Mod+P", "mac")).toBe(false);
  expect(matchesShortcut(press({ metaKey: true }), "Mod+P", "mac")).toBe(true);
});

test("an extra modifier is a different shortcut", () => {
  expect(matchesShortcut(press({ ctrlKey: true, shiftKey: true }), "Mod+P", "pc")).toBe(false);
});

test("a letter that Alt changes is recognised by its position", () => {
  expect(matchesShortcut(press({ key: "Ω", code: "KeyZ", altKey: true }), "Alt+Z", "mac")).toBe(true);
});

test("shortcuts are shown as the platform writes them", () => {
  expect([formatShortcut("Mod+Shift+P", "pc"), formatShortcut("Mod+Shift+P", "mac")]).toEqual(["Ctrl+Shift+P", "⌘⇧P"]);
});

test("a shell receives Control with a letter, but neither Command nor Control with Shift", () => {
  expect(["Mod+B", "Ctrl+`", "Alt+W", "F1"].map((shortcut) => reachesShell(shortcut, "pc"))).toEqual([true, true, true, true]);
  expect([reachesShell("Mod+Shift+E", "pc"), reachesShell("Mod+B", "mac"), reachesShell("Ctrl+`", "mac")]).toEqual([false, false, true]);
});
