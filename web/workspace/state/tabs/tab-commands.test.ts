import { expect, test } from "vitest";
import { createStore } from "zustand/vanilla";
import { noEditors, openBeside, openTab, type EditorGroups } from "./editor-groups.ts";
import { tabCommands } from "./tab-commands.ts";
import { fileTab, previewTab } from "./tab.ts";

test("an open tab is shown where it is instead of a second time", () => {
  const preview = previewTab(3000);
  const split = openBeside(openTab(noEditors, fileTab("a.ts")), preview);
  const store = createStore<EditorGroups>(() => ({ ...split, activeGroup: "1" }));
  const { revealTab } = tabCommands(store);
  expect(revealTab(previewTab(8080).id)).toBe(false);
  expect(revealTab(preview.id)).toBe(true);
  expect(store.getState()).toEqual(split);
});
