import { LanguageDescription } from "@codemirror/language";
import { languages } from "@codemirror/language-data";
import { EditorState } from "@codemirror/state";
import { expect, test } from "vitest";
import { symbolsOf } from "./symbols.ts";

async function outline(name: string, text: string): Promise<string[]> {
  const support = await LanguageDescription.matchFilename(languages, name)!.load();
  const state = EditorState.create({ doc: text, extensions: [support] });
  return symbolsOf(state).map(({ name: symbol, kind, depth, line, column }) => `${"  ".repeat(depth)}${kind} ${symbol} ${line}:${column}`);
}

test.each([
  [
    "a.ts",
    "export const add = (a: number) => a;\nclass Cat {\n  purr() { const x = 1; }\n}\ninterface Pet {}\ntype Name = string;\nfunction go() { const inner = () => 1; }",
    [
      "variable add 1:14",
      "class Cat 2:7",
      "  method purr 3:3",
      "interface Pet 5:11",
      "type Name 6:6",
      "function go 7:10",
      "  variable inner 7:23",
    ],
  ],
  ["a.py", "class Cat:\n    def purr(self):\n        pass\ndef go(): pass\n", ["class Cat 1:7", "  function purr 2:9", "function go 4:5"]],
  [
    "a.go",
    "package a\n\ntype Cat struct{}\n\nfunc (c Cat) Purr() {}\n\nfunc Go() {}\n",
    ["type Cat 3:6", "method Purr 5:14", "function Go 7:6"],
  ],
  ["a.rs", "struct Cat;\nimpl Cat {\n  fn purr(&self) {}\n}\n", ["struct Cat 1:8", "impl Cat 2:6", "  function purr 3:6"]],
  ["a.java", "class Cat {\n  void purr() {}\n}\n", ["class Cat 1:7", "  method purr 2:8"]],
  [
    "a.c",
    "struct cat { int a; };\nint purr(void) { return 1; }\nchar *name(void) { return 0; }\n",
    ["struct cat 1:8", "function purr 2:5", "function name 3:7"],
  ],
  ["a.md", "# One\ntext\n## Two ##\nThree\n-----\n", ["heading One 1:1", "  heading Two 3:1", "  heading Three 4:1"]],
  ["a.json", '{"name": "a", "scripts": {"test": "b"}}', ["property name 1:2", "property scripts 1:15"]],
  ["a.css", ".cat { color: red }\n#dog b { color: blue }\n", ["rule .cat 1:1", "rule #dog b 2:1"]],
])("finds the symbols of %s", async (name, text, expected) => {
  expect(await outline(name, text)).toEqual(expected);
});

test("a language without a syntax tree has no symbols", async () => {
  expect(await outline("a.sh", "go() {\n  echo\n}\n")).toEqual([]);
});
