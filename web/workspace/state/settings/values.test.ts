import { expect, test } from "vitest";
import { SETTING_NAMES, SETTINGS, type Setting } from "./schema.ts";
import { changeValues, faultOf, problemsOf, readSettings } from "./values.ts";

test("every default is allowed, and no two settings share a name", () => {
  for (const name of SETTING_NAMES) expect(faultOf(SETTINGS[name], SETTINGS[name].default)).toBeNull();
  expect(new Set(SETTING_NAMES.map((name) => SETTINGS[name].key)).size).toBe(SETTING_NAMES.length);
});

test("bad values are the defaults", () => {
  const state = readSettings({ "editor.fontSize": "huge", "workbench.theme": "toString", "editor.wordWrap": true, other: 1 });
  expect(state).toMatchObject({ fontSize: 13, theme: "system", wrapLines: true });
});

test("a change keeps unknown names and leaves out defaults", () => {
  const values = changeValues({ other: 1, "editor.fontSize": 20 }, { fontSize: 13, theme: "dark" });
  expect(values).toEqual({ other: 1, "workbench.theme": "dark" });
});

test("the repository's choice applies to people who have made none, and only to how texts are written", () => {
  const repository = { "editor.tabSize": 2, "editor.formatOnSave": true, "editor.wordWrap": "yes", "workbench.theme": "dark" };
  expect(readSettings({ "editor.formatOnSave": false }, repository)).toMatchObject({
    tabSize: 2,
    formatOnSave: false,
    wrapLines: false,
    theme: "system",
  });
  // The usual default is a choice where the repository has another one.
  expect(changeValues({}, { tabSize: 4 }, repository)).toEqual({ "editor.tabSize": 4 });
  expect(changeValues({ "editor.tabSize": 8 }, { tabSize: 2 }, repository)).toEqual({});
});

test("problems are described in plain words", () => {
  const problems = problemsOf({
    "editor.fontSize": 200,
    "editor.wordWrap": "yes",
    "editor.keymap": "emacs",
    "editor.fontFamily": "a; } body { display: none",
    "editor.minimap": true,
    "workbench.theme": "dark",
  });
  expect(problems.map(({ message }) => message)).toEqual([
    "editor.fontSize must be a number from 8 to 40.",
    "editor.wordWrap must be true or false.",
    'editor.keymap must be one of "vscode", "vim".',
    "editor.fontFamily must not contain any of ; { } < > \\.",
    'There is no setting "editor.minimap".',
  ]);
});

test("a number is not one of its text forms", () => {
  const setting: Setting = SETTINGS.tabSize;
  expect([faultOf(setting, Number.NaN), faultOf(setting, "4"), faultOf(setting, null)]).not.toContain(null);
});
