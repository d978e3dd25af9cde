import { expect, test } from "vitest";
import { fileTab } from "../../state/tabs/tab.ts";
import { folderShown } from "./tab-names.ts";

test("tabs with the same name show as much of their folders as tells them apart", () => {
  const shown = (...paths: string[]) => paths.map((path) => folderShown(fileTab(path), paths.map(fileTab)));
  expect(shown("a.ts", "src/b.ts")).toEqual([null, null]);
  expect(shown("a.ts", "src/a.ts")).toEqual(["workspace", "src"]);
  expect(shown("src/first/a.ts", "src/second/a.ts")).toEqual(["…/first", "…/second"]);
  expect(shown("x/one/lib/a.ts", "x/two/lib/a.ts", "lib/a.ts")).toEqual(["…/one/lib", "…/two/lib", "lib"]);
});
