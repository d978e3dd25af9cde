import { expect, test } from "vitest";
import { indentationFrom, parseEditorConfig, propertiesFor } from "./editorconfig.ts";

const config = parseEditorConfig(`
# top
root = true

[*]
indent_style = space
indent_size = 2 ; spaces

[*.{py,rs}]
indent_size = 4

[Makefile]
indent_style = tab
tab_width = 8

[src/**.gen.ts]
indent_size = 3

[file{1..3}.txt]
indent_size = 5
`);
const indentation = (path: string) => indentationFrom(propertiesFor(config, path));

test("sections apply by their globs, and later ones win", () => {
  expect(config.root).toBe(true);
  expect(indentation("a.ts")).toEqual({ unit: "  ", tabSize: 2 });
  expect(indentation("deep/down/a.py")?.unit).toBe("    ");
  expect(indentation("Makefile")).toEqual({ unit: "\t", tabSize: 8 });
  expect(indentation("src/deep/a.gen.ts")?.unit).toBe("   ");
  expect([indentation("file2.txt")?.unit.length, indentation("file4.txt")?.unit.length]).toEqual([5, 2]);
});

test("a file without settings has no indentation, and a broken glob matches nothing", () => {
  expect(indentationFrom({})).toBeNull();
  expect(propertiesFor(parseEditorConfig("[[z-a]]\nindent_size = 2"), "z")).toEqual({});
});
