import { LANGUAGES } from "@berth/contract/daemon/languages.ts";
import { expect, test } from "vitest";
import { fileLanguage } from "./file-language.ts";

test.each([
  ["src/a.ts", "typescript", "typescript"],
  ["src/a.tsx", "typescript", "typescriptreact"],
  ["a.mjs", "typescript", "javascript"],
  ["deep/er/a.py", "python", "python"],
  ["Dockerfile", "dockerfile", "dockerfile"],
  ["tsconfig.json", "json", "jsonc"],
])("%s belongs to the server for %s as %s", (path, language, id) => {
  expect(fileLanguage(path)).toEqual({ language, id });
});

test("other files have no language server", () => {
  for (const path of ["notes.txt", "ts", "LICENSE", "a.constructor"]) expect(fileLanguage(path)).toBeNull();
});

test("every language that a template can name has files", () => {
  const sample: Record<string, string> = {
    typescript: "ts",
    python: "py",
    rust: "rs",
    bash: "sh",
    csharp: "cs",
    elixir: "ex",
    haskell: "hs",
  };
  const more: Record<string, string> = { kotlin: "kt", markdown: "md", ocaml: "ml", ruby: "rb", terraform: "tf" };
  for (const language of LANGUAGES) expect(fileLanguage(`a.${sample[language] ?? more[language] ?? language}`)?.language).toBe(language);
});
