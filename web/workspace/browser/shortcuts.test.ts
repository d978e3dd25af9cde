import { expect, test } from "vitest";
import { matchesKeys, showKeys, type KeyPress } from "./shortcuts.ts";

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
  expect(matchesKeys(press({ ctrlKey: true }), "Mod+P", false)).toBe(true);
  expect(matchesKeys(press({ ctrlKey: true }), "Mod+P", true)).toBe(false);
  expect(matchesKeys(press({ metaKey: true }), "Mod+P", true)).toBe(true);
});

test("a key with more held down is another key", () => {
  expect(matchesKeys(press({ ctrlKey: true, shiftKey: true }), "Mod+P", false)).toBe(false);
});

test("a letter changed by Alt is known by its place", () => {
  expect(matchesKeys(press({ key: "Ω", code: "KeyZ", altKey: true }), "Alt+Z", true)).toBe(true);
});

test("keys read as they are written on the keyboard", () => {
  expect([showKeys("Mod+Shift+P", false), showKeys("Mod+Shift+P", true)]).toEqual(["Ctrl+Shift+P", "⌘⇧P"]);
});
