import { expect, test } from "vitest";
import { editorSettingsOf } from "./editor-settings.ts";

test("settings of VS Code that the workspace has are used, with its own names and values", () => {
  const settings = {
    "editor.tabSize": 2,
    "editor.insertSpaces": false,
    "editor.wordWrap": "bounded",
    "editor.formatOnSave": true,
    "editor.renderWhitespace": "trailing",
    "editor.fontSize": 40,
    "[python]": { "editor.tabSize": 4 },
  };
  expect(editorSettingsOf({ vscode: { settings, extensions: ["a.b"] }, codespaces: {} })).toEqual({
    settings: {
      "editor.tabSize": 2,
      "editor.indentWith": "tabs",
      "editor.wordWrap": true,
      "editor.formatOnSave": true,
      "editor.renderWhitespace": "trailing",
    },
    used: ["editor.tabSize", "editor.insertSpaces", "editor.wordWrap", "editor.formatOnSave", "editor.renderWhitespace"],
    unused: ["vscode.settings.editor.fontSize", "vscode.settings.[python]", "vscode.extensions", "codespaces"],
  });
  expect(editorSettingsOf({ vscode: { settings: { "editor.tabSize": 2 } } }).settings).toEqual({
    "editor.tabSize": 2,
    "editor.indentWith": "spaces",
  });
});

test("values of another type are not used", () => {
  const settings = { "editor.tabSize": 1e9, "editor.insertSpaces": "yes", "editor.wordWrap": {}, toString: 1, "editor.formatOnSave": null };
  expect(editorSettingsOf({ vscode: { settings } })).toEqual({
    settings: {},
    used: [],
    unused: Object.keys(settings).map((name) => `vscode.settings.${name}`),
  });
  for (const odd of [null, 7, "text", [1], { vscode: [] }, { vscode: { settings: "x" } }]) expect(editorSettingsOf(odd).used).toEqual([]);
});
