import type { Language } from "@berth/contract/daemon/languages.ts";
import { extensionOf, nameOf } from "../../text/paths.ts";

// The language whose server understands a file, and the name of the file's own language in the protocol.
export interface FileLanguage {
  language: Language;
  id: string;
}

// The extensions of each language id.
const EXTENSIONS: [Language, id: string, extensions: string][] = [
  ["typescript", "typescript", "ts mts cts"],
  ["typescript", "typescriptreact", "tsx"],
  ["typescript", "javascript", "js mjs cjs"],
  ["typescript", "javascriptreact", "jsx"],
  ["python", "python", "py pyi pyw"],
  ["go", "go", "go"],
  ["rust", "rust", "rs"],
  ["bash", "shellscript", "sh bash zsh"],
  ["json", "json", "json"],
  ["json", "jsonc", "jsonc"],
  ["css", "css", "css"],
  ["css", "scss", "scss"],
  ["css", "less", "less"],
  ["html", "html", "html htm"],
  ["yaml", "yaml", "yaml yml"],
  ["c", "c", "c h"],
  ["c", "cpp", "cc cpp cxx hh hpp hxx"],
  ["csharp", "csharp", "cs"],
  ["dart", "dart", "dart"],
  ["dockerfile", "dockerfile", "dockerfile"],
  ["elixir", "elixir", "ex exs"],
  ["haskell", "haskell", "hs"],
  ["java", "java", "java"],
  ["kotlin", "kotlin", "kt kts"],
  ["lua", "lua", "lua"],
  ["markdown", "markdown", "md markdown"],
  ["ocaml", "ocaml", "ml mli"],
  ["php", "php", "php"],
  ["ruby", "ruby", "rb"],
  ["svelte", "svelte", "svelte"],
  ["swift", "swift", "swift"],
  ["terraform", "terraform", "tf tfvars"],
  ["toml", "toml", "toml"],
  ["vue", "vue", "vue"],
  ["zig", "zig", "zig"],
];

const byExtension = new Map(
  EXTENSIONS.flatMap(([language, id, extensions]) => extensions.split(" ").map((extension) => [extension, { language, id }] as const)),
);

const byName = new Map<string, FileLanguage>([
  ["Dockerfile", { language: "dockerfile", id: "dockerfile" }],
  ["tsconfig.json", { language: "json", id: "jsonc" }],
  [".bashrc", { language: "bash", id: "shellscript" }],
  [".profile", { language: "bash", id: "shellscript" }],
  ["Gemfile", { language: "ruby", id: "ruby" }],
]);

// Null if no language server understands the file.
export function fileLanguage(path: string): FileLanguage | null {
  return byName.get(nameOf(path)) ?? byExtension.get(extensionOf(path)) ?? null;
}
